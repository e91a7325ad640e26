"""Each check of tools/ passes on a small good tree and fails on each way of being bad."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ChecksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / 'tools').mkdir()
        for name in ('layers.toml', 'words.txt'):
            shutil.copy(ROOT / 'tools' / name, self.root / 'tools' / name)
        self.write('src/cinnabar/base/error.h', '#pragma once\n#include <string>\n')
        self.write('src/cinnabar/schema/option.h', '#pragma once\n#include "cinnabar/base/error.h"\n')

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_check(self, name):
        done = subprocess.run([ROOT / 'tools' / f'check_{name}', self.root], capture_output=True, text=True)
        return done.returncode, done.stdout

    def assert_fails(self, check, *words):
        code, output = self.run_check(check)
        self.assertEqual(code, 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_all_pass_on_a_good_tree(self):
        for check in ('layers', 'devices', 'sizes', 'words', 'names', 'docs'):
            code, output = self.run_check(check)
            self.assertEqual(code, 0, output)

    def test_layers_refuse_an_include_to_the_right(self):
        self.write('src/cinnabar/base/bad.cpp', '#include "cinnabar/schema/option.h"\n')
        self.assert_fails('layers', 'src/cinnabar/base/bad.cpp:1', 'base may not include schema')

    def test_devices_refuse_a_header_of_a_vendor(self):
        self.write('src/cinnabar/nn/fast.cpp', '#include <c10/cuda/CUDAStream.h>\n')
        self.assert_fails('devices', 'src/cinnabar/nn/fast.cpp:1', 'header of a vendor')

    def test_devices_refuse_their_names_outside_of_one_place(self):
        self.write('src/cinnabar/train/loop.cpp', 'void f(at::Tensor x) {\n  x.to(at::kCUDA);  // at::accelerator\n}\n')
        self.assert_fails('devices', 'src/cinnabar/train/loop.cpp:2', 'kCUDA belongs into')
        self.write('src/cinnabar/train/loop.cpp', '#include <ATen/DeviceAccelerator.h>\n')
        self.assert_fails('devices', 'src/cinnabar/train/loop.cpp:1', 'DeviceAccelerator.h')

    def test_devices_take_their_names_in_texts_and_in_their_place(self):
        self.write('src/cinnabar/train/loop.cpp', '// at::accelerator, kCUDA\nconst char* text = "kCUDA \\" at::cuda";\n')
        self.write('src/cinnabar/tensor/accelerator.cpp', '#include <ATen/DeviceAccelerator.h>\nauto n = at::accelerator::deviceCount();\n')
        code, output = self.run_check('devices')
        self.assertEqual(code, 0, output)

    def test_devices_refuse_a_program_that_asks_for_a_vendors_symbol(self):
        self.write('fake.c', 'int hipMalloc(void**, unsigned long); int main(void) { return hipMalloc(0, 1); }\n')
        done = subprocess.run(['cc', '-c', '-o', self.root / 'engine.o', self.root / 'fake.c'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([ROOT / 'tools' / 'check_devices', self.root, self.root / 'engine.o'], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('hipMalloc', done.stdout)

    def test_layers_refuse_a_forbidden_pair(self):
        self.write('src/cinnabar/adapters/lora.h', '#pragma once\n')
        self.write('src/cinnabar/optim/lion.cpp', '#include "cinnabar/adapters/lora.h"\n')
        self.assert_fails('layers', 'optim may not include adapters')

    def test_layers_refuse_a_cycle(self):
        self.write('src/cinnabar/base/a.h', '#include "cinnabar/base/b.h"\n')
        self.write('src/cinnabar/base/b.h', '#include "cinnabar/base/a.h"\n')
        self.assert_fails('layers', 'include each other')

    def test_layers_refuse_torch_below_the_first_program(self):
        self.write('src/cinnabar/optim/lion.h', '#include <ATen/ATen.h>\n')
        self.write('src/cinnabar/cli/list.cpp', '#include "cinnabar/optim/lion.h"\n')
        self.assert_fails('layers', 'src/cinnabar/cli/list.cpp', 'ATen/ATen.h')

    def test_layers_allow_torch_behind_the_engine_guard(self):
        self.write('src/cinnabar/optim/lion.h', '#ifdef CINNABAR_ENGINE\n#include <ATen/ATen.h>\n#endif\n')
        self.write('src/cinnabar/cli/list.cpp', '#include "cinnabar/optim/lion.h"\n')
        self.assertEqual(self.run_check('layers')[0], 0)

    def test_layers_refuse_an_unknown_folder(self):
        self.write('src/cinnabar/extras/x.h', '#pragma once\n')
        self.assert_fails('layers', 'extras has no place')

    def test_layers_refuse_a_missing_file(self):
        self.write('src/cinnabar/base/bad.cpp', '#include "cinnabar/base/gone.h"\n')
        self.assert_fails('layers', 'no such file')

    def test_sizes_refuse_a_long_file(self):
        self.write('src/cinnabar/base/long.cpp', 'int x;\n' * 801)
        self.assert_fails('sizes', '801 lines')

    def test_sizes_refuse_a_long_function(self):
        self.write('src/cinnabar/base/long.cpp', 'int f(int x,\n      int y) {\n' + '  ++x;\n' * 90 + '}\n')
        self.assert_fails('sizes', 'long.cpp:1', '93 lines in one function')

    def test_sizes_refuse_a_long_member_function(self):
        self.write('src/cinnabar/base/long.h', 'class A {\n public:\n  int f() {\n' + '    ++x;\n' * 90 + '  }\n};\n')
        self.assert_fails('sizes', 'long.h:3')

    def test_sizes_leave_tables_alone(self):
        self.write('src/cinnabar/base/table.cpp', 'Rows rows() {\n  return {\n' + '      {1},\n' * 90 + '  };\n}\n')
        self.write('src/cinnabar/base/list.cpp', 'constexpr int kList[] = {\n' + '    1,\n' * 90 + '};\n')
        self.assertEqual(self.run_check('sizes')[0], 0)

    def test_words_refuse_a_path_of_somebodys_machine(self):
        self.write('docs/page.md', 'Copy it to /' + 'home/anna/models.\n')
        self.assert_fails('words', 'docs/page.md:1')

    def test_words_refuse_an_empty_catch(self):
        self.write('src/cinnabar/base/bad.cpp', 'void f() { try { g(); } catch (...) {} }\n')
        self.assert_fails('words', 'hides an error')

    def test_words_refuse_a_vendor_header(self):
        self.write('src/cinnabar/tensor/bad.cpp', '#include <ATen/cuda/CUDAContext.h>\n')
        self.assert_fails('words', 'vendor headers')

    def test_words_refuse_a_name_that_says_nothing(self):
        self.write('src/cinnabar/base/utils.h', '#pragma once\n')
        self.assert_fails('words', 'the name says nothing')

    def write_helpers(self, first, second):
        self.write('src/cinnabar/base/CMakeLists.txt', 'cinnabar_module(base SOURCES a.cpp b.cpp)\n')
        self.write('src/cinnabar/base/a.cpp', first)
        self.write('src/cinnabar/base/b.cpp', second)

    def in_base(self, text):
        return f'namespace cinnabar::base {{\nnamespace {{\n{text}\n}}  // namespace\n}}  // namespace cinnabar::base\n'

    def test_names_refuse_a_helper_of_two_files(self):
        self.write_helpers(self.in_base('std::map<int, int> parts(const std::string& text) {\n  return f(text);\n}'),
                           self.in_base('// parts\ntemplate <class T>\nint parts(T x) {\n  return 1;\n}'))
        self.assert_fails('names', 'src/cinnabar/base/b.cpp:4', 'parts is also a name of src/cinnabar/base/a.cpp:3')

    def test_names_refuse_types_constants_and_other_aliases(self):
        for first, second, name in (('struct Part {\n  int parts(int x) const;\n  bool operator==(const Part&) const;\n};', 'enum class Part { A };', 'Part'),
                                    ('constexpr int kA = 1, kB = 2;', "const char kB = '{';", 'kB'),
                                    ('using Json = nlohmann::json;', 'using Json = nlohmann::ordered_json;', 'Json'),
                                    ('enum Kind { Big, Small };', 'bool Small() { return true; }', 'Small')):
            self.write_helpers(self.in_base(first), self.in_base(second))
            self.assert_fails('names', f'{name} is also a name of')

    def test_names_refuse_static_functions_and_names_of_headers(self):
        self.write_helpers('static int parts() { return 1; }\n', self.in_base('int parts;'))
        self.assert_fails('names', 'parts is also a name of')
        self.write('src/cinnabar/base/a.h', '#pragma once\nnamespace cinnabar::base {\nint parts(int x);\n}  // namespace cinnabar::base\n')
        self.write('src/cinnabar/base/a.cpp', 'namespace cinnabar::base {\nint parts(int x) { return x; }\n}  // namespace cinnabar::base\n')
        self.assert_fails('names', 'src/cinnabar/base/a.h:3')

    def test_names_allow_one_meaning_members_and_other_namespaces(self):
        self.write_helpers(self.in_base('namespace fs = std::filesystem;\nusing std::string;\nvoid A::read() {\n  int x;\n}\nint far;'),
                           self.in_base('namespace fs = std::filesystem;\nusing std::string;\nvoid B::read() {\n  int x;\n}')
                           + self.in_base('int far;').replace('base', 'other'))
        code, output = self.run_check('names')
        self.assertEqual(code, 0, output)

    def test_names_leave_files_alone_that_are_compiled_apart(self):
        self.write_helpers(self.in_base('int part;'), self.in_base('int part;'))
        self.write('src/cinnabar/base/CMakeLists.txt', 'set_source_files_properties(b.cpp PROPERTIES COMPILE_OPTIONS -O3)\n')
        self.assertEqual(self.run_check('names')[0], 0)

    def test_names_look_at_a_target_of_several_folders(self):
        for folder in ('one', 'two'):
            self.write(f'tests/{folder}/{folder}_test.cpp', 'namespace {\nint part;\n}  // namespace\n')
            self.write(f'tests/{folder}/CMakeLists.txt', f'cinnabar_test({folder} SOURCES {folder}_test.cpp)\n')
        self.assertEqual(self.run_check('names')[0], 0)
        self.write('tests/two/CMakeLists.txt', 'cinnabar_test(two SOURCES two_test.cpp ../one/one_test.cpp)\n')
        self.assert_fails('names', 'part is also a name of')
        with (self.root / 'tests/two/CMakeLists.txt').open('a') as lists:
            lists.write('set_target_properties(two_test PROPERTIES UNITY_BUILD OFF)\n')
        self.assertEqual(self.run_check('names')[0], 0)

    def test_docs_refuse_a_dead_link(self):
        self.write('README.md', 'See [this](docs/gone.md).\n')
        self.assert_fails('docs', 'README.md:1', 'docs/gone.md')

    def test_docs_refuse_a_dead_anchor(self):
        self.write('README.md', '# First run\n[a](#first-run) [b](#second-run)\n')
        self.assert_fails('docs', 'second-run')

    def test_docs_do_not_read_code(self):
        self.write('README.md', '```\n[a](gone.md)\n```\n`[b](gone.md)`\n')
        self.assertEqual(self.run_check('docs')[0], 0)


if __name__ == '__main__':
    unittest.main()
