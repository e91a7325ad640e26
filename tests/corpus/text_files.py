"""Files of text: configurations, data sets, prompts, captions, records of the program, vocabularies."""

import gzip
import json
import struct  # noqa: F401

MODEL = 'pretrained_model_name_or_path = "embedded"\ntrain_data_dir = "embedded"\noutput_dir = "out"\n'
GUI = {"LoRA_type": "Standard", "pretrained_model_name_or_path": "embedded", "train_data_dir": "embedded", "output_dir": "out",
       "learning_rate": 0.0001, "unet_lr": 0.0001, "text_encoder_lr": 0.00005, "max_train_steps": 10}
DEEP = "[" * 65 + "]" * 65


def gui(**changed):
    return json.dumps({**GUI, **changed})


def gui_with(text):
    return gui()[:-1] + ", " + text + "}"


def own(values, **other):
    return json.dumps({"cinnabar_config": 1, "command": "train", "values": values, **other})


def config_files():
    closing = "]" * 100
    bad = {
        "no_value.toml": ("seed =\n", "no_value.toml:1: not valid TOML"),
        "no_key.toml": ("= 1\n", "1: not valid TOML"),
        "unclosed_text.toml": ('output_name = "a\n', "1: not valid TOML"),
        "unclosed_list.toml": ("network_args = [\"a=1\"\n", "not valid TOML"),
        "unclosed_table.toml": ("[network\n", "not valid TOML"),
        "header_without_name.toml": ("seed = 1\n[ =]\n", "2: not valid TOML: expected the name of a table"),
        "header_of_dot.toml": ("[.a]\n", "1: not valid TOML: expected the name of a table"),
        "header_of_list_without_name.toml": ("[[\n", "1: not valid TOML: expected the name of a table"),
        "key_twice.toml": ("seed = 1\nseed = 2\n", "2: not valid TOML"),
        "table_twice.toml": ("[a]\nseed = 1\n[a]\n", "3: not valid TOML"),
        "number_of_70_bits.toml": ("seed = 99999999999999999999\n", "1: not valid TOML"),
        "number_with_leading_zero.toml": ("seed = 007\n", "not valid TOML"),
        "flag_capital.toml": ("flip_aug = True\n", "1: not valid TOML"),
        "windows_path.toml": ('output_dir = "C:\\models"\n', "a backslash between"),
        "windows_path_that_parses.toml": (MODEL.replace('"out"', '"C:\\new\\train"'), "the path holds control characters"),
        "invalid_utf8.toml": (b'output_name = "\xff\xfe"\n', "not valid TOML"),
        "utf16.toml": ("seed = 1\n".encode("utf-16"), "not valid TOML"),
        "zero_byte.toml": (b"seed = 1\n\0\n", "not valid TOML"),
        "typographic_quotes.toml": ("seed = 1\noutput_name = \u201ccat\u201d\n", "2: not valid TOML: \"\u201c\" is no quotation mark of TOML"),
        "quote_inside_value.toml": ("seed = 1\noutput_name = it's mine\n", "2: not valid TOML: a quotation mark in the middle of a name or value"),
        "equals_inside_value.toml": ("seed = 1=2\n", "1: not valid TOML: \"=\" inside of a value"),
        "bracket_inside_value.toml": ("resolution = 512[768]\n", "1: not valid TOML: a bracket in the middle of a name or value"),
        "special_space.toml": ("seed\u00a0= 1\n", "1: not valid TOML: a special space"),
        "text_without_quotes.toml": ("output_name = \u8d64\n", "stands outside of a text; put texts"),
        "web_page.toml": ("<!DOCTYPE html>\n", "not valid TOML"),
        "nested_too_deep.toml": ("a = " + DEEP + "\n", "nest deeper than 64"),
        "nested_behind_text.toml": (f'b = """\n{closing}\n"""\na = {DEEP}\n', "4: lists or tables nest deeper than 64"),
        "nested_behind_comment.toml": (f"# {closing}\na = {DEEP}\n", "nest deeper than 64"),
        "nested_behind_literal.toml": (f"b = '''{closing}'''\na = {DEEP}\n", "nest deeper than 64"),
        "nested_tables.toml": ("a = " + "{b = " * 70 + "1" + "}" * 70 + "\n", "nest deeper than 64"),
        "dotted_key_too_deep.toml": (".".join("a" * 70) + " = 1\n", "nest deeper than 64"),
        "header_too_deep.toml": ("[" + ".".join("a" * 70) + "]\n", "nest deeper than 64"),
        "many_keys.toml": ("".join(f"k{i} = 1\n" for i in range(4001)), "more than 4000 keys"),
        "long_key.toml": ("k" * 300 + " = 1\n", "a key of more than 256 bytes"),
        "five_megabytes.toml": ("# " + "x" * (5 << 20) + "\n", "at most 4194304 are read"),
        "unknown_key.toml": (MODEL + "netwrok_dim = 8\n", "did you mean network_dim?"),
        "unknown_key_with_escape.toml": (MODEL + '"a\\u001b[31m" = 8\n', "a?[31m = 8: unknown option"),
        "text_for_number.toml": (MODEL + 'network_dim = "many"\n', "network_dim = many: expected a whole number"),
        "fraction_for_number.toml": (MODEL + "network_dim = 4.5\n", "network_dim = 4.5: expected a whole number"),
        "list_for_number.toml": (MODEL + "network_dim = [4, 8]\n", "network_dim = [4,8]: expected a whole number"),
        "table_for_number.toml": (MODEL + "seed = {a = 1}\n", "unknown option"),
        "date_for_number.toml": (MODEL + "seed = 2024-01-01\n", "seed = {}: expected a whole number"),
        "out_of_range.toml": (MODEL + "network_dim = 0\n", "network_dim = 0: expected a whole number from 1"),
        "infinite.toml": (MODEL + "learning_rate = inf\n", "learning_rate = inf: expected a number"),
        "no_number.toml": (MODEL + "learning_rate = nan\n", "learning_rate = nan: expected a number"),
        "unknown_choice.toml": (MODEL + 'mixed_precision = "fp4"\n', "mixed_precision = "),
        "zero_in_path.toml": (MODEL.replace('"out"', '"a\\u0000b"'), "output_dir = a?b: expected a path"),
        "folder_missing.toml": (MODEL.replace('train_data_dir = "embedded"', 'train_data_dir = "nowhere/at/all"'), "no such folder"),
        "data_set_inside.toml": ("[[datasets]]\nresolution = 512\n", "this describes a data set, not a run"),
        "list_of_lists.toml": (MODEL + 'network_args = [["a=1"]]\n', "network_args"),
        "cut_off.json": ('{"LoRA_type": "Standard"', "not valid JSON near byte"),
        "comma_behind_last.json": ('{"LoRA_type": "Standard",}', "not valid JSON near byte"),
        "two_values.json": (gui() + gui(), "not valid JSON near byte"),
        "comment.json": ('{"LoRA_type": "Standard" // LoRA\n}', "not valid JSON near byte"),
        "single_quotes.json": ("{'LoRA_type': 'Standard'}", "not valid JSON near byte"),
        "python_words.json": ('{"LoRA_type": None}', "not valid JSON near byte"),
        "nan.json": (gui_with('"x": NaN'), "not valid JSON near byte"),
        "invalid_utf8.json": (b'{"LoRA_type": "\xff"}', "not valid JSON near byte"),
        "lone_surrogate.json": ('{"LoRA_type": "\\ud800"}', "not valid JSON near byte"),
        "windows_path.json": ('{"output_dir": "C:\\models"}', "a backslash between"),
        "number_out_of_range.json": (gui_with('"x": 1e999'), "a number is out of range"),
        "key_twice.json": (gui_with('"seed": 1, "seed": 2'), 'the key "seed" occurs twice'),
        "key_twice_inside.json": (gui_with('"x": {"a": 1, "a": 2}'), 'the key "a" occurs twice'),
        "nested_too_deep.json": (gui_with('"x": ' + DEEP), "nest deeper than 64"),
        "nested_megabytes.json": (gui_with('"x": ' + "[" * 1_000_000), "nest deeper than 64"),
        "many_keys.json": (json.dumps({f"k{i}": 1 for i in range(4001)}), "more than 4000 keys"),
        "long_key.json": (gui_with('"' + "k" * 300 + '": 1'), "has 300 bytes; at most 256"),
        "other_method.json": ('{"image_folder": ""}', "a configuration of fine-tuning"),
        "textual_inversion.json": ('{"token_string": ""}', "a configuration of textual inversion"),
        "network_unknown.json": (gui(LoRA_type="Foo"), "LoRA_type = Foo: no such type of network"),
        "rates_zero.json": (gui(learning_rate=0, unet_lr=0, text_encoder_lr=0), "all learning rates are 0"),
        "text_for_number.json": (gui(network_dim="many"), "network_dim = many: expected a whole number"),
        "steps_beyond_counting.json": (gui(lr_warmup_steps=1e300), "lr_warmup_steps = 1e+300: expected"),
        "seed_of_64_bits.json": (gui(seed=(1 << 64) - 1), "seed = 18446744073709551615: expected a whole number"),
        "rank_negative.json": (gui(network_dim=-4), "network_dim = -4: expected a whole number from 1"),
        "own_without_values.json": ('{"cinnabar_config": 1}', "expected JSON with a table \"values\""),
        "own_values_list.json": ('{"cinnabar_config": 1, "values": []}', "expected JSON with a table \"values\""),
        "own_cut_off.json": ('{"cinnabar_config": 1, "values": {', "not valid JSON"),
        "own_unknown.json": (own({"netwrok_dim": 8}), "did you mean network_dim?"),
        "own_wrong_type.json": (own({"network_dim": {}}), "network_dim = {}: expected a whole number"),
        "own_key_twice.json": ('{"cinnabar_config": 1, "values": {"seed": 1, "seed": 2}}', 'the key "seed" occurs twice'),
    }
    values = {"pretrained_model_name_or_path": "embedded", "train_data_dir": "embedded", "output_dir": "out", "seed": 7}
    good = {
        "flat.toml": MODEL + "network_dim = 8\nlearning_rate = 1e-4\nseed = 1\n",
        "sections.toml": MODEL + "[network]\nnetwork_dim = 8\nnetwork_alpha = 4.0\n[optimizer]\nlearning_rate = 0.0001\n",
        "lists.toml": MODEL + 'lr_scheduler = "cosine"\nlr_warmup_steps = "10%"\nresolution = "64,96"\nsave_every_n_steps = 100\n',
        "texts.toml": MODEL + 'output_name = \'a "quoted" name\'\ntraining_comment = """\n[[[ a long\ntext ]]]\n"""\n',
        "comments.toml": "# [[[[ \"\n" + MODEL + "seed = 1 # ]]] '\n",
        "byte_order_mark.toml": b"\xef\xbb\xbf" + MODEL.encode(),
        "windows_line_ends.toml": MODEL.replace("\n", "\r\n"),
        "gui.json": gui(),
        "gui_with_texts.json": gui(network_dim="16", seed="42", max_train_epochs="", noise_offset="0.05"),
        "own.json": own(values),
    }
    return bad, good


SUBSET = '[[datasets.subsets]]\nimage_dir = "embedded"\n'


def dataset(general="", dataset_="", subset="", more=""):
    return (f"[general]\n{general}\n" if general else "") + f"[[datasets]]\n{dataset_}\n{SUBSET}{subset}\n{more}"


def dataset_files():
    def tables(value):
        return json.dumps(value)

    one = {"image_dir": "embedded"}
    bad = {
        "empty.toml": ("", "describes no data set"),
        "no_datasets.toml": ("[general]\nresolution = 64\n", "describes no data set"),
        "datasets_table.toml": ("[datasets]\nresolution = 64\n", "at least one [[datasets]]"),
        "datasets_number.toml": ("datasets = 1\n", "at least one [[datasets]]"),
        "datasets_empty.toml": ("datasets = []\n", "at least one [[datasets]]"),
        "datasets_of_numbers.toml": ("datasets = [1, 2]\n", "datasets[1]: expected a table"),
        "no_subsets.toml": ("[[datasets]]\nresolution = 64\n", "datasets[1].subsets: missing"),
        "subsets_table.toml": ("[[datasets]]\n[datasets.subsets]\nimage_dir = \"x\"\n", "datasets[1].subsets: missing"),
        "subsets_of_numbers.toml": ("[[datasets]]\nsubsets = [1]\n", "subsets[1]: expected a table"),
        "no_folder.toml": ("[[datasets]]\n[[datasets.subsets]]\nnum_repeats = 2\n", "subsets[1].image_dir: missing"),
        "folder_empty.toml": (dataset().replace('"embedded"', '""'), "expected a folder"),
        "folder_number.toml": (dataset().replace('"embedded"', "7"), "between quotation marks"),
        "folder_with_line_break.toml": (dataset().replace('"embedded"', '"C:\\new"'), "control characters"),
        "general_number.toml": ("general = 1\n" + dataset(), "general: expected a table"),
        "unknown_table.toml": (dataset() + "[training]\nseed = 1\n", "training: unknown table or key"),
        "key_outside.toml": ("resolution = 64\n" + dataset(), "Put this key under one of them"),
        "subsets_outside.toml": ("[[subsets]]\nimage_dir = \"x\"\n" + dataset(), "Subsets belong to a data set"),
        "unknown_key.toml": (dataset("shufle_caption = true"), 'did you mean "shuffle_caption"?'),
        "key_of_another_place.toml": (dataset(subset="batch_size = 2"), "does not belong in [[datasets.subsets]]"),
        "name_of_command_line.toml": (dataset(dataset_="train_batch_size = 2"), 'did you mean "batch_size"?'),
        "resolution_text.toml": (dataset(dataset_='resolution = "512"'), "expected a side (512)"),
        "resolution_three.toml": (dataset(dataset_="resolution = [1, 2, 3]"), "expected a side (512)"),
        "resolution_zero.toml": (dataset(dataset_="resolution = 0"), "expected a side (512)"),
        "resolution_huge.toml": (dataset(dataset_="resolution = 1000000"), "expected a side (512)"),
        "flag_number.toml": (dataset("flip_aug = 1"), "flip_aug = 1: expected true or false"),
        "flag_text.toml": (dataset("flip_aug = \"yes\""), "expected true or false"),
        "batch_zero.toml": (dataset(dataset_="batch_size = 0"), "expected a whole number from 1 to 4096"),
        "batch_fraction.toml": (dataset(dataset_="batch_size = 1.5"), "expected a whole number from 1 to 4096"),
        "tokens_negative.toml": (dataset("keep_tokens = -1"), "expected a whole number of at least 0"),
        "rate_above_one.toml": (dataset("caption_dropout_rate = 1.5"), "expected a number from 0.0 to 1.0"),
        "rate_no_number.toml": (dataset("caption_dropout_rate = nan"), "expected a number from 0.0 to 1.0"),
        "separator_empty.toml": (dataset('caption_separator = ""'), "expected at least one character"),
        "lines_unknown.toml": (dataset('caption_lines = "last"'), 'expected "first", "random" or "join"'),
        "filter_unknown.toml": (dataset('resize_interpolation = "magic"'), "expected one of lanczos"),
        "face_range_one.toml": (dataset("face_crop_aug_range = [2.0]"), "two numbers with decimal points"),
        "face_range_reversed.toml": (dataset("face_crop_aug_range = [4.0, 2.0]"), "the smaller one first"),
        "attributes_text.toml": (dataset('custom_attributes = "x"'), "expected a table"),
        "split_whole.toml": (dataset(dataset_="validation_split = 1"), "with a decimal point"),
        "bucket_steps_odd.toml": (dataset(dataset_="enable_bucket = true\nbucket_reso_steps = 12"), "expected a multiple of 8"),
        "buckets_reversed.toml": (dataset(dataset_="enable_bucket = true\nmin_bucket_reso = 512\nmax_bucket_reso = 256"), "bucket_reso"),
        "metadata_file.toml": (dataset(subset='metadata_file = "m.json"'), "not supported yet"),
        "masks_without_use.toml": (dataset(subset='conditioning_data_dir = "embedded"'), "only --masked_loss uses"),
        "not_toml.toml": ("[[datasets]\n", "1: not valid TOML"),
        "nested_too_deep.toml": (dataset("custom_attributes = {a = " + DEEP + "}"), "nest deeper than 64"),
        "key_twice.toml": (dataset("flip_aug = true\nflip_aug = false"), "not valid TOML"),
        "long_key.toml": (dataset("k" * 300 + " = 1"), "a key of more than 256 bytes"),
        "not_json.json": ('{"datasets": [', "not valid JSON"),
        "key_twice.json": ('{"datasets": [], "datasets": []}', 'the key "datasets" occurs twice'),
        "nested_too_deep.json": ('{"datasets": ' + DEEP + "}", "nest deeper than 64"),
        "datasets_null.json": ('{"datasets": null}', "at least one [[datasets]]"),
        "subsets_null.json": (tables({"datasets": [{"subsets": None}]}), "datasets[1].subsets: missing"),
        "resolution_negative.json": (tables({"datasets": [{"resolution": -1, "subsets": [one]}]}), "expected a side (512)"),
        "batch_of_64_bits.json": (tables({"datasets": [{"batch_size": (1 << 64) - 1, "subsets": [one]}]}), "expected a whole number from 1"),
        "number_out_of_range.json": ('{"datasets": [{"x": 1e999}]}', "a number is out of range"),
    }
    good = {
        "one.toml": dataset(),
        "all_places.toml": dataset("shuffle_caption = true\nresolution = 64", "batch_size = 2", "num_repeats = 3\nis_reg = false"),
        "two_subsets.toml": dataset(more=SUBSET + "flip_aug = true\n"),
        "two_data_sets.toml": dataset() + dataset(dataset_="resolution = [64, 96]\nenable_bucket = true\nmin_bucket_reso = 64\nmax_bucket_reso = 128"),
        "attributes.toml": dataset("custom_attributes = {a = {b = [1, 2.5, \"x\"]}}"),
        "one.json": tables({"datasets": [{"resolution": 64, "subsets": [one]}]}),
        "nulls.json": tables({"general": {"flip_aug": None}, "datasets": [{"subsets": [one]}]}),
    }
    return bad, good


def prompt_files():
    flags = " ".join("--w 64" for _ in range(70))
    bad = {
        "no_prompt.txt": ("--w 64 --h 64\n", "no_prompt.txt:1: --w 64 --h 64: there is no prompt before the flags"),
        "empty.txt": ("", "there is no prompt in it"),
        "comments_alone.txt": ("# a\n# b\n", "there is no prompt in it"),
        "invalid_utf8.txt": (b"a \xff cat\n", "byte 2 is not UTF-8"),
        "unknown_flag.txt": ("a cat --x 5\n", "--x 5: no such flag"),
        "long_name.txt": ("a cat --width 512\n", "did you mean --w?"),
        "blank_missing.txt": ("a cat --w512\n", "did you mean --w 512?"),
        "long_dash.txt": ("a cat \u2014w 512\n", "a long dash stands before"),
        "no_value.txt": ("a cat --w\n", "--w: the flag has no value"),
        "flag_twice.txt": ("a cat --w 64 --w 128\n", "the flag stands twice"),
        "many_flags.txt": ("a cat " + flags + "\n", "more than 64 flags"),
        "width_text.txt": ("a cat --w wide\n", "a size in pixels from 64 to 8192"),
        "width_zero.txt": ("a cat --w 0\n", "a size in pixels from 64 to 8192"),
        "width_huge.txt": ("a cat --w 99999999999999999999\n", "a size in pixels from 64 to 8192"),
        "steps_text.txt": ("a cat --s many\n", "a number of steps from 1 to 1000"),
        "steps_negative.txt": ("a cat --s -4\n", "taken as 1"),
        "scale_comma.txt": ("a cat --l 7,5\n", "a point in numbers, 7.5"),
        "scale_nan.txt": ("a cat --l nan\n", "a guidance scale from 0 to 100"),
        "scale_infinite.txt": ("a cat --l inf\n", "a guidance scale from 0 to 100"),
        "scale_out_of_range.txt": ("a cat --l 1e999\n", "a guidance scale from 0 to 100"),
        "seed_negative.txt": ("a cat --d -5\n", "a whole number of 0 or more"),
        "seed_of_65_bits.txt": ("a cat --d 18446744073709551616\n", "a whole number of 0 or more"),
        "sampler_unknown.txt": ("a cat --ss eulr\n", 'did you mean "euler"?'),
        "long_line.txt": ("x" * 70000 + "\n", "the line has 70000 bytes"),
        "two_megabytes.txt": ("a cat\n" * 400000, "at most 1048576 are read"),
        "many_prompts.txt": ("a\n" * 10001, "at most 10000 prompts"),
        "other_extension.md": ("a cat\n", "read as a text file"),
        "not_toml.toml": ("[prompt\n", "not_toml.toml:1"),
        "no_table.toml": ("seed = 1\n", "there is no table [prompt]"),
        "prompt_is_text.toml": ('prompt = "a cat"\n', "there is no table [prompt]"),
        "no_prompt.toml": ("[prompt]\nwidth = 64\n", 'this prompt has no key "prompt"'),
        "unknown_key.toml": ('[prompt]\nprompt = "a"\nwidht = 64\n', "did you mean width?"),
        "flag_as_key.toml": ('[prompt]\nprompt = "a"\nw = 64\n', "did you mean width?"),
        "outside_table.toml": ('x = 1\n[prompt]\nprompt = "a"\n', "prompts stand below [prompt]"),
        "subset_text.toml": ('[prompt]\nsubset = "a"\n', "expected tables, [[prompt.subset]]"),
        "subset_of_numbers.toml": ("[prompt]\nsubset = [1]\n", "expected tables, [[prompt.subset]]"),
        "key_in_both.toml": ('[prompt]\nwidth = 64\n[[prompt.subset]]\nprompt = "a"\nwidth = 128\n', "the subset's value is taken"),
        "many_keys.toml": ('[prompt]\nprompt = "a"\n' + "".join(f"k{i} = 1\n" for i in range(70)), "more than 64 keys"),
        "nested_too_deep.toml": ("a = " + DEEP + "\n", "nest deeper than 64"),
        "list_value.toml": ('[prompt]\nprompt = "a"\nwidth = [64]\n', "a size in pixels"),
        "not_json.json": ('["a cat"', "not valid JSON"),
        "object.json": ('{"prompt": "a"}', "one prompt without its list"),
        "number.json": ("7", "expected a list of prompts"),
        "list_of_numbers.json": ("[1, 2]", "expected an object or a line of text"),
        "no_prompt.json": ('[{"width": 64}]', 'there is no key "prompt"'),
        "key_twice.json": ('[{"prompt": "a", "prompt": "b"}]', 'the key "prompt" occurs twice'),
        "nested_too_deep.json": (DEEP, "nest deeper than 64"),
        "unknown_key.json": ('[{"prompt": "a", "widht": 64}]', "did you mean width?"),
        "table_value.json": ('[{"prompt": "a", "width": {}}]', "a size in pixels"),
        "many_keys.json": ("[" + json.dumps({"prompt": "a", **{f"k{i}": 1 for i in range(70)}}) + "]", "more than 64 keys"),
    }
    good = {
        "plain.txt": "a cat\na dog --n bad --w 512 --h 768 --d 42 --l 7.5 --s 28\n",
        "comments.txt": "# first\na cat\n\n# second\na dog\n",
        "weights.txt": "a (cat:1.3) in [snow]\n",
        "byte_order_mark.txt": b"\xef\xbb\xbfa cat\n",
        "unicode.txt": "\u732b --n \u72ac\n",
        "one.toml": '[prompt]\nprompt = "a cat"\nwidth = 64\n',
        "subsets.toml": '[prompt]\nwidth = 64\n[[prompt.subset]]\nprompt = "a"\n[[prompt.subset]]\nprompt = "b"\nseed = 4\n',
        "objects.json": '[{"prompt": "a cat", "width": 64, "enum": 0}, {"prompt": "b", "seed": null}]',
        "lines.json": '["a cat --w 64", "b"]',
    }
    return bad, good


def caption_files():
    bad = {
        "empty.txt": (b"", "the caption file is empty"),
        "invalid_utf8.txt": (b"a cat, \xff\n", "byte 7 is 0xFF"),
        "overlong_utf8.txt": (b"a \xc0\xaf", "byte 2 is 0xC0"),
        "surrogate.txt": (b"\xed\xa0\x80", "byte 0 is 0xED"),
        "cut_off_utf8.txt": (b"caf\xc3", "byte 3 is 0xC3"),
        "over_unicode.txt": (b"\xf4\x90\x80\x80", "byte 0 is 0xF4"),
        "latin_1.txt": ("caf\u00e9".encode("latin-1"), "byte 3 is 0xE9"),
        "utf16_little.txt": ("a cat".encode("utf-16"), "this file looks like UTF-16"),
        "utf16_big.txt": (b"\xfe\xff" + "a cat".encode("utf-16-be"), "this file looks like UTF-16"),
        "png.txt": (b"\x89PNG\r\n\x1a\n", "byte 0 is 0x89"),
        "two_megabytes.txt": (b"a, " * 700000, "at most 1048576 are read"),
        "many_lines.txt": (b"a\n" * 100001, "has 100001 lines"),
        "weight_two_points.txt": (b"a (cat:1.2.3)", "a weight that is no number"),
        "weight_point_alone.txt": (b"(cat:.)", "a weight that is no number"),
        "weight_out_of_range.txt": (b"(cat:" + b"9" * 400 + b")", "a weight that is no number"),
        "brackets_too_deep.txt": (b"(" * 17 + b"cat" + b")" * 17, "more than 16 brackets are open"),
        "square_brackets_too_deep.txt": (b"[" * 17 + b"cat", "more than 16 brackets are open"),
        "mixed_brackets_too_deep.txt": (b"([" * 9 + b"cat", "more than 16 brackets are open"),
        "weights_multiply.txt": (b"((cat:" + b"9" * 300 + b"):" + b"9" * 300 + b")", "multiply to more than a number holds"),
        "face.txt": (b"((((((((((((((((((((o_o", "more than 16 brackets are open"),
    }
    good = {
        "tags.txt": b"1girl, solo, (blue eyes:1.2), [hat]\n",
        "wildcards.txt": b"a {red|green|blue} {{house}} with {a|b}\n",
        "separators.txt": b"kept, one ||| two, three ||| last ;;; other\n",
        "lines.txt": b"a cat\n\n  a dog  \r\na bird\r",
        "byte_order_mark.txt": b"\xef\xbb\xbfa cat\n",
        "blank.txt": b"   \n",
        "unicode.txt": "\u732b, caf\u00e9, \U0001f600\n".encode(),
        "escapes.txt": b"a \\(cat\\) \\[x\\] \\\\ \\z\n",
        "unbalanced.txt": b"a) (b [c ] d] {e f}\n",
        "braces.txt": b"{} {|} {a {b|c} {d\n",
    }
    return bad, good


def record_files():
    def manifest(**changed):
        value = {"kind": "training-state", "version": 1, "files": {"state.json": {"size_bytes": 3, "sha256": "0" * 64}}, **changed}
        return json.dumps({key: item for key, item in value.items() if item != "absent"})

    def file(name="a", **fields):
        return manifest(files={name: {"size_bytes": 1, "sha256": "0" * 64, **fields}})

    bad = {
        "empty.json": ("", "not valid JSON"),
        "torn.json": (manifest()[:40], "not valid JSON"),
        "zeros.json": (bytes(64), "not valid JSON"),
        "two_values.json": (manifest() * 2, "not valid JSON"),
        "list.json": ("[]", "expected the fields kind, version and files"),
        "number.json": ("7", "expected the fields kind, version and files"),
        "no_kind.json": (manifest(kind="absent"), "expected the fields kind, version and files"),
        "kind_number.json": (manifest(kind=1), "expected the fields kind, version and files"),
        "no_version.json": (manifest(version="absent"), "expected the fields kind, version and files"),
        "version_text.json": (manifest(version="1"), "expected the fields kind, version and files"),
        "version_negative.json": (manifest(version=-1), "expected the fields kind, version and files"),
        "version_fraction.json": (manifest(version=1.5), "expected the fields kind, version and files"),
        "version_of_64_bits.json": (manifest(version=(1 << 64) - 1), "expected the fields kind, version and files"),
        "no_files.json": (manifest(files="absent"), "expected the fields kind, version and files"),
        "files_list.json": (manifest(files=[]), "expected the fields kind, version and files"),
        "name_leaves.json": (file("../x"), "is not allowed"),
        "name_parent.json": (file(".."), "is not allowed"),
        "name_absolute.json": (file("/etc/passwd"), "is not allowed"),
        "name_empty.json": (file(""), "is not allowed"),
        "name_with_zero.json": (file("a\0b"), "is not allowed"),
        "name_long.json": (file("n" * 300), "has 300 bytes; at most 256"),
        "name_twice.json": ('{"kind":"k","version":1,"files":{"a":{"size_bytes":1,"sha256":""},"a":{"size_bytes":1,"sha256":""}}}', 'the key "a" occurs twice'),
        "entry_number.json": (manifest(files={"a": 1}), 'the file "a" has no size_bytes and sha256'),
        "size_negative.json": (file(size_bytes=-1), "has no size_bytes and sha256"),
        "size_text.json": (file(size_bytes="1"), "has no size_bytes and sha256"),
        "hash_number.json": (file(sha256=1), "has no size_bytes and sha256"),
        "nested_too_deep.json": ('{"files": ' + DEEP + "}", "nest deeper than 64"),
        "many_keys.json": ("{" + ",".join(f'"{i}":1' for i in range(100001)) + "}", "more than 100000 keys"),
    }
    values = {"network_dim": 8, "learning_rate": 1e-4, "network_args": ["a=1"], "betas": [0.9, 0.99], "flip_aug": True, "comment": "x", "none": None}
    good = {
        "manifest.json": manifest(),
        "manifest_without_files.json": manifest(files={}),
        "manifest_of_three.json": manifest(files={name: {"size_bytes": 1, "sha256": "f" * 64} for name in ("a", "b c", "\u00e9")}),
    }
    # For the fuzz target alone: what the other reader of such files takes and what it refuses.
    other = {
        "config.json": own(values),
        "config_empty.json": own({}),
        "config_mixed_list.json": own({"a": [1, "x"]}),
        "config_nested.json": own({"a": {"b": [1]}}),
        "config_version_text.json": own({}).replace(": 1", ': "1"', 1),
        "config_version_2.json": own({}).replace(": 1", ": 2", 1),
        "config_no_command.json": '{"cinnabar_config":1,"values":{}}',
        "config_command_number.json": '{"cinnabar_config":1,"command":1,"values":{}}',
        "config_values_list.json": '{"cinnabar_config":1,"command":"train","values":[]}',
        "config_texts_then_number.json": own({"a": ["x", 1]}),
        "config_flags.json": own({"a": [True, False]}),
        "config_without_version.json": '{"command":"train","values":{}}',
        "config_extra.json": own({}, other=[1, 2]),
        "config_unicode.json": own({"output_name": "\u732b \U0001f600", "caption_separator": "\n\t"}),
        "config_long_list.json": own({"betas": [i / 7 for i in range(50)]}),
        "config_key_twice.json": '{"cinnabar_config":1,"command":"train","values":{"a":1,"a":2}}',
        "config_deep.json": '{"cinnabar_config":1,"command":"train","values":{"a":' + DEEP + "}}",
        "config_list_of_flags_and_texts.json": own({"a": [True, "x"]}),
        "config_empty_lists.json": own({"a": [], "b": {}}),
        "config_large_numbers.json": own({"a": (1 << 64) - 1, "b": -(1 << 63), "c": [1e308, 5e-324]}),
    }
    return bad, good, other


def vocabulary_files():
    head = "#version: 0.2\n"
    fine = head + "a b\nab c</w>\nd e\n"
    packed = gzip.compress(fine.encode(), mtime=0)
    bad = {
        "empty.txt": (b"", 'line 2: found ""'),
        "version_alone.txt": (head, 'line 2: found ""'),
        "too_few_lines.txt": (head + "a b\n", 'line 3: found ""'),
        "one_symbol.txt": (head + "ab\nab c\nd e\n", 'line 2: found "ab"'),
        "unknown_symbol.txt": (head + "a xy\nab c\nd e\n", 'line 2: found "a xy"'),
        "symbol_of_later_line.txt": (head + "ab c\na b\nd e\n", 'line 2: found "ab c"'),
        "three_symbols.txt": (head + "a b c\nd e\nf g\n", 'line 2: found "a b c"'),
        "blank_line.txt": (head + "\na b\nd e\n", 'line 2: found ""'),
        "windows_line_ends.txt": (fine.replace("\n", "\r\n"), "line 2: found"),
        "utf16.txt": (fine.encode("utf-16"), "line 2: found"),
        "invalid_utf8.txt": (head.encode() + b"a \xff\nab c\nd e\n", "line 2: found"),
        "packed_cut_off.gz": (packed[:-9], "cut off"),
        "packed_damaged.gz": (packed[:20] + bytes([packed[20] ^ 255]) + packed[21:], "damaged gzip file"),
        "packed_wrong_checksum.gz": (packed[:-8] + b"\0\0\0\0" + packed[-4:], "damaged gzip file"),
        "packed_bomb.gz": (gzip.compress(bytes(66 << 20), mtime=0), "over 64 MiB unpacked"),
        "json.txt": ('{"model": {"merges": []}}\n' * 4, "line 2: found"),
    }
    good = {"plain.txt": fine, "packed.gz": packed, "more_lines.txt": fine + "f g\nh i\n"}
    return bad, good


CLIP_TEXTS = [
    "", "a photo of a cat", "A PHOTO, of (a) CAT!", "it's we've I'm they'll he'd 'twas", "<|startoftext|> a <|endoftext|>", "caf\u00e9 cafe\u0301 na\u00efve",
    "&amp; &lt;b&gt; &#39; &#x27; &#0; &#xD800; &#1114112; &eacute; &nosuch;", "&amp;amp;amp;amp;amp;amp;", "<b>&amp;</b>", "\u732b\u304c\u597d\u304d", "\uff21\uff22\uff23\u3000\uff11\uff12",
    "\ufb01ne \ufb00ort \u0132ssel \u01c4", "\u201cquoted\u201d \u2018text\u2019", "1234 5.6 7,8 \u00bd \u2167", "a\u00a0b\u2003c\u3000d", "tab\tand\nline\r\nend\r",
    "\u00c3\u00a9 \u00e2\u20ac\u2122 \u00e2\u20ac\u0153", "\u00c3\u0192\u00c2\u00a9", "\u00e2\u201a\u00ac", "\u0080\u0085\u009f", "\x1b[31mred\x1b[0m", "\ufeffbom\u200b\u200e\u2060", "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "e" + "\u0301\u0316" * 40, "\u1100\u1161\u11a8", "\u0130I\u0131i\u03a3\u03c3\u03c2 \u039f\u03a3", "\u017f\u212a\u2126", "x" * 300, "a " * 200, "!?.,;:" * 30, "\u0345\u0346", "\u0e33\u0eb3", "\ufffd\uffff",
    "'S 'T 'RE", "it\u2019s", "don\u02bct", "\u0149", "\u05d0\u05d1\u200f", "\u0627\u0644", "\u0e01\u0e33", "\U00010330", "\u2028\u2029", "\u00c2\u00a0x", "\u00c3 x", "\u00d0\u009f", "\u00ef\u00bf\u00bd", "a\x00b", "\x7f", "_-_-_", "#$%&*+/=@^`|~", "(((a)))", "\u00a9\u00ae\u2122",
]


def clip_texts():
    seeds = {f"text_{i:02}": text.encode() for i, text in enumerate(CLIP_TEXTS)}
    seeds |= {"invalid_utf8": b"a \xff\xc3 b", "cut_off_utf8": b"\xe2\x82", "overlong": b"\xc0\x80", "latin_1": "caf\u00e9".encode("latin-1"), "all_bytes": bytes(range(256))}
    return seeds
