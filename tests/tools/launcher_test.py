"""The launcher hands everything to the program, and calls set-up only when something is missing or a new commit changed sources."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETUP = '''#!/bin/sh
echo "setup $*"
'''
PROGRAM = '''#!/bin/sh
echo "program pid $$"
for word in "$@"; do echo "[$word]"; done
exit 7
'''


class LauncherTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / 'a folder'
        self.root.mkdir()
        shutil.copy(ROOT / 'cinnabar', self.root / 'cinnabar')
        self.write('tools/setup/setup', SETUP, executable=True)
        self.write('build/release/bin/cinnabar', PROGRAM, executable=True)
        self.write('build/release/bin/cinnabar-worker', PROGRAM, executable=True)
        self.write('.deps/clip/bpe_simple_vocab_16e6.txt.gz', '')
        self.write('build/release/.built', 'none\n')

    def write(self, name, text, executable=False):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if executable:
            path.chmod(0o755)

    def launch(self, *arguments, path=None):
        # Temporary folders may lie in a repository of somebody else.
        env = dict(os.environ, GIT_CEILING_DIRECTORIES=str(self.root.parent))
        process = subprocess.Popen([path or self.root / 'cinnabar', *arguments], stdout=subprocess.PIPE, text=True, env=env)
        output = process.communicate()[0]
        return process.returncode, output, process.pid

    def git(self, *arguments):
        subprocess.run(['git', '-C', self.root, '-c', 'user.name=t', '-c', 'user.email=t@t', *arguments], check=True, capture_output=True)

    def test_becomes_the_program_with_the_same_words(self):
        code, output, pid = self.launch('train', '--output_name', 'two words', '')
        self.assertEqual(code, 7)
        self.assertEqual(output, f'program pid {pid}\n[train]\n[--output_name]\n[two words]\n[]\n')

    def test_works_through_a_link(self):
        link = self.root.parent / 'link'
        link.symlink_to(self.root / 'cinnabar')
        self.assertIn('[--help]', self.launch('--help', path=link)[1])

    def test_sets_up_when_a_part_is_missing(self):
        for part in ('build/release/bin/cinnabar-worker', '.deps/clip/bpe_simple_vocab_16e6.txt.gz', 'build/release/.built'):
            shutil.move(self.root / part, self.root / 'away')
            self.assertIn('setup --build\nprogram', self.launch('plan')[1], part)
            shutil.move(self.root / 'away', self.root / part)
        self.assertNotIn('setup', self.launch('plan')[1])

    def test_builds_a_new_commit_that_changes_sources_only(self):
        self.git('init', '-q')
        self.write('src/a.cpp', 'int a;\n')
        self.git('add', 'src')
        self.git('commit', '-q', '-m', 'one')
        self.assertIn('setup --build', self.launch('plan')[1])  # the stamp is of no commit
        head = subprocess.run(['git', '-C', self.root, 'rev-parse', 'HEAD'], capture_output=True, text=True).stdout
        self.write('build/release/.built', head)
        self.assertNotIn('setup', self.launch('plan')[1])
        self.write('README.md', 'words\n')
        self.git('add', 'README.md')
        self.git('commit', '-q', '-m', 'two')
        self.assertNotIn('setup', self.launch('plan')[1])
        self.write('src/a.cpp', 'int b;\n')
        self.assertNotIn('setup', self.launch('plan')[1])  # edits wait for build, test or demo
        self.git('commit', '-q', '-a', '-m', 'three')
        self.assertIn('setup --build', self.launch('plan')[1])

    def test_demo_build_and_test_always_look(self):
        self.assertIn('setup --build\nprogram', self.launch('demo')[1])
        self.assertNotIn('setup', self.launch('demo', '--help')[1])  # a question costs no build
        self.assertEqual(self.launch('build')[1], 'setup --build\n')
        self.assertEqual(self.launch('test', '-L', 'fast')[1], 'setup --test release -L fast\n')
        self.assertEqual(self.launch('test', '--preset', 'asan')[1], 'setup --test asan\n')
        self.assertEqual(self.launch('setup', '--dry_run')[1], 'setup --dry_run\n')


if __name__ == '__main__':
    unittest.main()
