"""Set-up takes libtorch only from a wheel of the version and build that was asked for, and says what to do when there is none."""
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCABULARY = pathlib.Path('clip/bpe_simple_vocab_16e6.txt.gz')
WHEEL_FILES = ('torch/lib/libtorch_cpu.so', 'torch/lib/libc10.so', 'torch/lib/libtorch_python.so', 'torch/share/cmake/x.cmake',
               'torch/include/ATen/ATen.h', 'torch/include/c10/c10.h', 'torch/include/torch/t.h', 'torch/include/caffe2/c.h',
               'torch/include/fmt/core.h', 'torch/nn/modules.py')


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.wheels = self.root / 'index'
        self.wheels.mkdir()
        shutil.copytree(ROOT / 'tools' / 'setup', self.root / 'tools' / 'setup')
        self.deps = self.root / '.deps'
        (self.deps / 'clip').mkdir(parents=True)
        if not (ROOT / '.deps' / VOCABULARY).exists():
            self.skipTest('this checkout is not set up')
        shutil.copy(ROOT / '.deps' / VOCABULARY, self.deps / VOCABULARY)

    def make_wheel(self, version, inside=None, folder=None):
        name = f'torch-{version}-cp311-cp311-manylinux_2_28_{platform.machine()}.whl'
        info = f'torch-{version}.dist-info'
        with zipfile.ZipFile((folder or self.wheels) / name, 'w') as wheel:
            wheel.writestr('torch/version.py', f"__version__ = '{inside or version}'\n")
            for file in WHEEL_FILES:
                wheel.writestr(file, file)
            wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\nName: torch\nVersion: {version}\n')
            wheel.writestr(f'{info}/WHEEL', f'Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_{platform.machine()}\n')
            wheel.writestr(f'{info}/licenses/LICENSE', 'the licence')
            wheel.writestr(f'{info}/RECORD', '')

    def run_setup(self, *arguments, **environment):
        env = dict(os.environ, CINNABAR_SKIP_PACKAGES='1', CINNABAR_TORCH_INDEX=str(self.wheels))
        env = {name: value for name, value in env.items() if not name.startswith('PIP_') and name != 'CINNABAR_TORCH'}
        env['PIP_CONFIG_FILE'] = os.devnull  # nothing but the folder of the test
        env.update(environment)
        done = subprocess.run([self.root / 'tools/setup/setup', '--no_build', *arguments], capture_output=True, text=True, env=env)
        return done.returncode, done.stderr

    def unpacked(self):
        return sorted(path.name for path in self.deps.glob('libtorch*'))

    def test_takes_what_the_programs_need_from_the_wheel(self):
        self.make_wheel('2.13.0+cpu')
        (self.deps / 'libtorch-2.13.0-cpu.part/torch').mkdir(parents=True)  # an interrupted run left this
        code, output = self.run_setup('--use-cpu')
        self.assertEqual(code, 0, output)
        self.assertEqual(self.unpacked(), ['libtorch-2.13.0-cpu'])
        self.assertEqual(os.readlink(self.deps / 'torch'), 'libtorch-2.13.0-cpu')
        folder = self.deps / 'libtorch-2.13.0-cpu'
        self.assertEqual(sorted(path.name for path in (folder / 'include').iterdir()), ['ATen', 'c10', 'caffe2', 'torch'])
        self.assertTrue((folder / 'licenses/LICENSE').exists())
        self.assertFalse((folder / 'lib/libtorch_python.so').exists())
        shutil.rmtree(self.wheels)
        code, output = self.run_setup()
        self.assertEqual(code, 0, output)
        self.assertIn('libtorch: 2.13.0+cpu present', output)

    def test_another_build_is_not_taken(self):
        for version in ('2.13.0', '2.13.0+cu130', '2.12.0+cpu'):
            self.make_wheel(version)
        code, output = self.run_setup('--use-cpu')
        self.assertEqual(code, 1)
        for words in ('2.13.0 (cpu build) could not be fetched', str(self.wheels), 'CINNABAR_TORCH_INDEX', 'CINNABAR_TORCH.', '.deps/wheels'):
            self.assertIn(words, output)
        self.assertEqual(self.unpacked(), [])

    def test_a_wheel_that_says_something_else_inside_is_refused(self):
        self.make_wheel('2.13.0+cpu', inside='2.13.0+cu130')
        code, output = self.run_setup('--use-cpu')
        self.assertEqual(code, 1)
        self.assertIn("it says inside that it is version '2.13.0+cu130'", output)
        self.assertEqual(self.unpacked(), [])

    def test_a_wheel_that_the_user_copied_is_used_without_an_index(self):
        (self.deps / 'wheels').mkdir()
        self.make_wheel('2.13.0+rocm7.2', folder=self.deps / 'wheels')
        code, output = self.run_setup('--use-rocm')
        self.assertEqual(code, 0, output)
        self.assertEqual(self.unpacked(), ['libtorch-2.13.0-rocm7.2'])
        self.assertTrue(list((self.deps / 'wheels').iterdir()))
        code, output = self.run_setup()  # the choice is remembered
        self.assertIn('libtorch: 2.13.0+rocm7.2 present', output)

    def test_the_vocabulary_must_be_the_published_list(self):
        self.make_wheel('2.13.0+cpu')
        (self.deps / VOCABULARY).unlink()
        (self.deps / 'wheels').mkdir()
        with zipfile.ZipFile(self.deps / 'wheels/open_clip_torch-3.3.0-py3-none-any.whl', 'w') as wheel:
            wheel.writestr('open_clip/bpe_simple_vocab_16e6.txt.gz', 'something else')
            wheel.writestr('open_clip_torch-3.3.0.dist-info/licenses/LICENSE', 'MIT')
        code, output = self.run_setup('--use-cpu')
        self.assertEqual(code, 1)
        self.assertIn('is not the published list', output)
        self.assertFalse((self.deps / VOCABULARY).exists())

    def test_a_folder_of_the_user_is_looked_at(self):
        code, output = self.run_setup(CINNABAR_TORCH=str(self.wheels))
        self.assertEqual(code, 1)
        self.assertIn('no lib/libtorch_cpu.so in it', output)
        for file in ('lib/libtorch_cpu.so', 'lib/libc10.so', 'include/ATen/ATen.h'):
            (self.wheels / file).parent.mkdir(parents=True, exist_ok=True)
            (self.wheels / file).touch()
        for version, expected in (('2.4.1+cpu', 1), ('2.12.0+rocm7.2', 0)):
            (self.wheels / 'version.py').write_text(f"__version__ = '{version}'\n")
            self.assertEqual(self.run_setup(CINNABAR_TORCH=str(self.wheels))[0], expected)

    def test_a_dry_run_writes_nothing(self):
        before = sorted(self.root.rglob('*'))
        code, output = self.run_setup('--dry_run')
        self.assertEqual(code, 0, output)
        self.assertIn('would fetch 2.13.0', output)
        self.assertEqual(sorted(self.root.rglob('*')), before)

    def test_a_moved_checkout_is_configured_anew(self):
        tree = self.root / 'build' / 'release'
        tree.mkdir(parents=True)
        (tree / 'build.ninja').write_text('old')
        program = self.root / 'cmake'
        program.write_text('#!/bin/sh\nexit 0\n')
        program.chmod(0o755)
        script = ('root=$1 dry_run= torch_dir=/t; source "$root/tools/setup/report.sh"; need_space() { :; }; '
                  'source "$root/tools/setup/build.sh"; PATH=$root:$PATH; build_tree release')
        for home, kept in ((self.root.resolve(), True), ('/elsewhere/cinnabar', False)):
            (tree / 'build.ninja').write_text('old')
            (tree / 'CMakeCache.txt').write_text(f'CINNABAR_TORCH:PATH=/t\nCMAKE_HOME_DIRECTORY:INTERNAL={home}\n')
            done = subprocess.run(['bash', '-euc', script, 'bash', str(self.root)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((tree / 'build.ninja').exists(), kept)
            self.assertEqual('was moved' in done.stderr, not kept)

    def test_an_unknown_option_is_wrong_usage(self):
        code, output = self.run_setup('--use-npu')
        self.assertEqual(code, 2)
        self.assertIn('--use-npu', output)


if __name__ == '__main__':
    unittest.main()
