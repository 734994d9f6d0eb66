"""Tests of the tool that runs the examples: an example that is wrong must fail."""

import contextlib
import io
import os
import tempfile
import time
import unittest

import examples
import links

BINARY = os.environ.get("DUEQ_BINARY", "build/dueq")
RIGHT = """
```redis
> Q.PUSH mail "a b" DELAY 1ms    # a comment
"<id>"
127.0.0.1:6379> Q.CLAIM mail BLOCK 30s
1) 1) "<id>"
   2) (integer) <token>
   3) "a b"
   4) (integer) 1
> MULTI
OK
127.0.0.1:6379(TX)> Q.ACK mail <id> <token>
QUEUED
> EXEC
1) (integer) 1
```
"""


def command_of(process):
    try:
        with open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def failures_in(text, run_all=False):
    with tempfile.NamedTemporaryFile("w", suffix=".md") as document:
        document.write(text)
        document.flush()
        with contextlib.redirect_stdout(io.StringIO()) as output:
            return examples.check_document(document.name, BINARY, run_all), output.getvalue()


class DocumentTest(unittest.TestCase):
    def test_a_right_example_passes(self):
        self.assertEqual(failures_in(RIGHT)[0], 0)

    def test_a_wrong_reply_fails_and_both_replies_are_shown(self):
        failures, output = failures_in(RIGHT.replace('"a b"\n', '"a c"\n'))
        self.assertEqual(failures, 1)
        self.assertIn("line 5: Q.CLAIM mail BLOCK 30s", output)
        self.assertIn('3) "a c"', output)
        self.assertIn('3) "a b"', output)

    def test_a_reply_that_is_missing_or_too_long_fails(self):
        self.assertEqual(failures_in(RIGHT.replace("QUEUED\n", ""))[0], 1)
        self.assertEqual(failures_in(RIGHT.replace("QUEUED\n", "QUEUED\nQUEUED\n"))[0], 1)

    def test_a_name_means_the_same_word_everywhere(self):
        self.assertEqual(failures_in(RIGHT.replace("Q.ACK mail <id> <token>", "Q.ACK mail <id> 99"))[0], 1)
        self.assertEqual(failures_in(RIGHT.replace('1) 1) "<id>"', '1) 1) "<token>"'))[0], 1)

    def test_a_shell_runs_examples_of_dueq_itself(self):
        shell = "```console\n$ dueq push mail hello\n<id>\n$ dueq get --raw mail <id>; echo\nhello\n```\n"
        self.assertEqual(failures_in(shell)[0], 0)
        self.assertEqual(failures_in(shell.replace("hello\n```", "bye\n```"))[0], 1)

    def test_what_a_shell_leaves_in_the_background_is_ended(self):
        with tempfile.NamedTemporaryFile("r") as pid:
            text = f"```console\n$ sleep 1000 >/dev/null 2>&1 & echo $! >{pid.name}\n$ kill -0 $(cat {pid.name}) && echo runs\nruns\n```\n"
            self.assertEqual(failures_in(text)[0], 0)
            left = int(pid.read())
        deadline = time.monotonic() + 30
        while "1000" in command_of(left):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_a_block_with_more_goes_on_with_the_one_before(self):
        text = "```redis\n> SET a 1\nOK\n```\nthen\n```redis more\n> GET a\n\"1\"\n```\n"
        self.assertEqual(failures_in(text)[0], 0)
        self.assertEqual(failures_in(text.replace(" more", ""))[0], 1)
        with self.assertRaises(ValueError):
            examples.read_examples("```redis more\n> PING\nPONG\n```\n")
        with self.assertRaises(ValueError):
            examples.read_examples("```console\n$ true\n```\n```redis more\n> PING\nPONG\n```\n")

    def test_a_block_with_a_name_is_a_file_of_the_shells(self):
        text = "```console\n$ ./hello.sh\nhello\n```\n```sh hello.sh\n#!/bin/sh\necho hello\n```\n"
        self.assertEqual(failures_in(text)[0], 0)
        self.assertEqual(failures_in(text.replace("echo hello", "echo bye"))[0], 1)

    def test_what_needs_a_package_is_left_out_without_it_and_told(self):
        here, there = "```console\n$ echo a\na\n```\n", "```console needs=no-such-package\n$ echo a\nb\n```\n"
        failures, output = failures_in(here + there)
        self.assertEqual(failures, 0)
        self.assertIn("1 examples, 0 wrong, 1 left out: no no-such-package", output)
        self.assertEqual(failures_in(here + there, run_all=True)[0], 1)
        self.assertEqual(failures_in(there)[0], 1)
        self.assertEqual(failures_in(here + there.replace("no-such-package", "base-files"))[0], 1)

    def test_each_example_has_a_server_of_its_own(self):
        self.assertEqual(failures_in(RIGHT + "```redis\n> Q.TOPICS\n(empty array)\n```\n")[0], 0)

    def test_resp3_is_asked_for_by_the_fence(self):
        reply = "```redis resp3\n> HSET h f v\n(integer) 1\n> HGETALL h\n1# \"f\" => \"v\"\n```\n"
        self.assertEqual(failures_in(reply)[0], 0)
        self.assertEqual(failures_in(reply.replace(" resp3", ""))[0], 1)

    def test_a_document_without_examples_fails(self):
        self.assertEqual(failures_in("# Nothing\n")[0], 1)

    def test_commands_in_other_blocks_are_refused(self):
        with self.assertRaises(ValueError):
            examples.read_examples("```\n> PING\nPONG\n```\n")
        with self.assertRaises(ValueError):
            examples.read_examples("```redis\nPONG\n> PING\n```\n")
        self.assertEqual(examples.read_examples("```sh\nmake run\n```\n> a quotation\n"), [])


class LinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as document:
            document.write(text)
        return path

    def test_a_link_to_no_heading_is_wrong(self):
        self.write("b.md", "## Q.PUSH, and others\n```\n# no heading\n```\n")
        right = self.write("a.md", "[b](b.md#qpush-and-others), [here](#top)\n# Top\n")
        self.assertEqual(links.wrong_anchors([right]), [])
        for anchor in ("b.md#qpush", "b.md#no-heading", "c.md#x", "#bottom"):
            self.assertEqual(len(links.wrong_anchors([self.write("a.md", f"[b]({anchor})\n# Top\n")])), 1)

    def test_a_document_to_which_nothing_leads_is_lost(self):
        names = [self.write("a.md", "[b](b.md)"), self.write("b.md", "[c](c.md)"), self.write("c.md", "")]
        self.assertEqual(links.lost(names, names[0]), [])
        self.assertEqual(len(links.lost(names, names[1])), 1)


class AgreesTest(unittest.TestCase):
    def test_a_placeholder_is_one_word(self):
        self.assertTrue(examples.agrees('"<id>"\n', '"x"\n', {}))
        self.assertFalse(examples.agrees('"<id>"\n', '"x y"\n', {}))
        self.assertFalse(examples.agrees('"<id>"\n', '""\n', {}))

    def test_a_placeholder_is_equal_within_one_reply(self):
        self.assertTrue(examples.agrees("<a> <b> <a>\n", "1 2 1\n", {}))
        self.assertFalse(examples.agrees("<a> <b> <a>\n", "1 2 2\n", {}))


if __name__ == "__main__":
    unittest.main()
