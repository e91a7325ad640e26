#include "cinnabar/schema/toml_limits.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cinnabar/base/error.h"

namespace cinnabar::schema {
namespace {

TEST_CASE("deep_nesting_is_refused_before_parsing") {
  const std::string deep = "a = " + std::string(3000, '[') + std::string(3000, ']');
  CHECK_THROWS_WITH_AS(check_toml(deep, "train.toml"), doctest::Contains("nest deeper than 64"), base::Error);
  std::string dotted = "a";
  for (int i = 0; i < 3000; ++i) dotted += ".a";
  CHECK_THROWS_AS(check_toml(dotted + " = 1", "train.toml"), base::Error);
  CHECK_THROWS_AS(check_toml("[" + dotted + "]", "train.toml"), base::Error);
  std::string numbers = "a = [0.5";
  for (int i = 0; i < 200; ++i) numbers += ", 0.5";
  CHECK_NOTHROW(check_toml(numbers + "]", "train.toml"));
  CHECK_NOTHROW(check_toml("a = \"" + std::string(3000, '[') + "\"", "train.toml"));
}

// A scan that takes these brackets for brackets would see the nesting that follows 3,000 levels higher than it is.
TEST_CASE("brackets_in_strings_and_comments_make_up_for_nothing") {
  const std::string deep = "a = " + std::string(65, '[') + std::string(65, ']') + "\n";
  const std::string closing(3000, ']');
  for (const std::string& before :
       {"# " + closing + "\n", "b = \"" + closing + "\"\n", "b = '" + closing + "'\n",
        "b = \"\"\"\n" + closing + "\n\"\"\"\n", "b = '''\n" + closing + "\n'''\n", "b = \"\\\"" + closing + "\"\n",
        "b = \"\"\"x\"\"\"\"\n" + closing + "\n", closing + "\n"}) {
    CAPTURE(before.substr(0, 12));
    CHECK_THROWS_WITH_AS(check_toml(before + deep, "train.toml"), doctest::Contains("nest deeper than 64"),
                         base::Error);
  }
  CHECK_THROWS_AS(check_toml("c = ['''a'''', '\n']\n" + deep, "train.toml"), base::Error);
  const std::string opening(3000, '[');
  for (const std::string& fine : {"# " + opening + "\n", "b = \"" + opening + "\"\n", "b = '''\n" + opening + "\n'''\n",
                                  "b = [\"\\\"" + opening + "\"]\n"}) {
    CAPTURE(fine.substr(0, 12));
    CHECK_NOTHROW(check_toml(fine + "a = [[[1.5]]]\n", "train.toml"));
  }
}

TEST_CASE("dots_of_keys_and_headers_nest_with_the_brackets_around_them") {
  std::string thirty = "k";
  for (int i = 0; i < 30; ++i) thirty += ".k";
  CHECK_NOTHROW(check_toml("[" + thirty + "]\n" + thirty + " = 1\n", "train.toml"));
  CHECK_THROWS_AS(check_toml("[" + thirty + "]\n" + thirty + " = {a.b.c.d = 1}\n", "train.toml"), base::Error);
  CHECK_THROWS_AS(check_toml(thirty + " = {" + thirty + " = {a.b.c.d = 1}}\n", "train.toml"), base::Error);
  CHECK_NOTHROW(check_toml("a = {b = {c = 1}, d = 2}\n[[e.f]]\ng = [1.25, {h.i = 1}]\n", "train.toml"));
}

// toml++ 3.3 ends the program there.
TEST_CASE("headers_begin_with_a_name") {
  for (const std::string text : {"[ =]", "[.a]", "[[\n", "[[[a]]]", "a = 1\n[\\a]", "[#]"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(check_toml(text, "train.toml"), doctest::Contains("not valid TOML"), base::Error);
  }
  for (const std::string text :
       {"[a]", "[ a ]", "[[ a]]", "[\"a b\"]", "['a']", "[_-9]", "a = [ 1 ]", "a = [[\"=\"]]"}) {
    CAPTURE(text);
    CHECK_NOTHROW(check_toml(text, "train.toml"));
  }
}

// toml++ 3.3 has undefined behaviour on some of them.
TEST_CASE("characters_outside_ascii_stand_in_texts_and_comments_alone") {
  struct Refused {
    std::string text;
    const char* message;
  };
  for (const auto& [text, message] : std::vector<Refused>{
           {"\ufffd", "train.toml:1: not valid TOML: \"\ufffd\" stands outside of a text"},
           {"a = 1\n\u0308 = 2\n", "train.toml:2: not valid TOML: \"\u0308\" stands outside of a text"},
           {"gr\u00f6\u00dfe = 2\n", "put texts, and keys with such characters, between \" and \""},
           {"a = \u8d64\n", "\"\u8d64\" stands outside of a text"},
           {"a = [1,\n\ufe7f]\n", "train.toml:2: not valid TOML"},
           {"[\u00e4]\n", "not valid TOML"},
           {"a = \u201cb\u201d\n", "is no quotation mark of TOML; write \" or '"},
           {"a\u00a0= 1\n", "a special space stands outside of a text"},
           {"a\u3000= 1\n", "a special space stands outside of a text"},
           {"a = \xff\xfe\n", "the file is not UTF-8"},
           {"a = \xe8\xb5", "the file is not UTF-8"},
           {"\xff\xfes\0", "the file is not UTF-8"},
           {" \ufeffa = 1\n", "a special space stands outside of a text"}}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(check_toml(text, "train.toml"), doctest::Contains(message), base::Error);
  }
  for (const std::string text :
       {"\ufeffa = 1\n", "# \u00e4 \ufffd \u201c\na = 1\n", "a = \"\u0308\ufe7f\"\n", "a = '\u8d64'\n",
        "\"gr\u00f6\u00dfe\" = 1\n", "a = \"\"\"\n\u00e4\n\"\"\" # \u00e4\n", "[\"\u00e4\".'\u00f6']\n"}) {
    CAPTURE(text);
    CHECK_NOTHROW(check_toml(text, "train.toml"));
  }
}

// There the parser reads on over the mark, so that what follows is no text for it.
TEST_CASE("texts_and_brackets_begin_where_a_value_may") {
  for (const char* bad : {"a = 5\" x\"", "a = 5008-05-2\" 9x\"", "a = it's", "a\"b\" = 1", "a = \"b\"\"c\"",
                          "a = [\"b\" \"c\"]", "a = [1] \"b\"", "[a\"b\"]", "[a] \"b\" = 1", "a = 1 'b'"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(check_toml(bad, "t"), doctest::Contains("a quotation mark in the middle"), base::Error);
  }
  for (const char* bad : {"a = 1[2]", "a = 1 {b = 2}", "a = \"b\"[", "a[1] = 2", "a = [1][2]"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(check_toml(bad, "t"), doctest::Contains("a bracket in the middle"), base::Error);
  }
  for (const char* bad : {"a = 1=\"b\"", "a = b=c", "a = [b=c]", "x = 1\na = \"b\" = 2"}) {
    CAPTURE(bad);
    CHECK_THROWS_WITH_AS(check_toml(bad, "t"), doctest::Contains("\"=\" inside of a value"), base::Error);
  }
  for (const char* fine :
       {"\xEF\xBB\xBF\"a\" = 1", "\xEF\xBB\xBF[a]\n", "\"a\".'b'.c = \"d\"",
        "[\"a\".'b']\r\n\"c\" = 1\r\n[[ d . \"e\" ]]\n",
        "a = [\n  \"b\", # c \"d\n  'e',\n  [1, [\"f\"]],\n  {g = \"h\", \"i\" = [{}, {j.\"k\" = 1}]},\n]\n'l' = 2",
        "a = \"\"\"b\"c = [\"\"\"\n\"d\" = 1979-05-27 07:32:00.5\ne = +1.5e3\n"}) {
    CAPTURE(fine);
    CHECK_NOTHROW(check_toml(fine, "t"));
  }
}

TEST_CASE("keys_are_limited_in_number_and_length") {
  std::string many;
  for (int i = 0; i < 20; ++i) many += "k" + std::to_string(i) + " = " + std::to_string(i) + "\n";
  CHECK_NOTHROW(check_toml(many, "train.toml", {.keys = 20}));
  CHECK_THROWS_WITH_AS(check_toml(many, "train.toml", {.keys = 19}),
                       doctest::Contains("train.toml:20: more than 19 keys"), base::Error);
  CHECK_NOTHROW(check_toml(std::string(256, 'k') + " = 1\n", "train.toml"));
  CHECK_NOTHROW(check_toml("k = \"" + std::string(5000, 'v') + "\"\n", "train.toml"));
  CHECK_THROWS_AS(check_toml(std::string(257, 'k') + " = 1\n", "train.toml"), base::Error);
  CHECK_THROWS_AS(check_toml("[\"" + std::string(300, 'k') + "\"]\n", "train.toml"), base::Error);
  CHECK_THROWS_AS(check_toml("k = [1, 2, 3, 4]", "train.toml", {.values = 2}), base::Error);
}

}  // namespace
}  // namespace cinnabar::schema
