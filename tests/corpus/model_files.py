"""Files of models: safetensors, torch.save, numpy."""

import struct

from builders import *  # noqa: F403


def safetensors_files():
    one = {"a": tensor()}
    eight = bytes(8)

    def raw(fields):
        return b'{"a":{' + fields + b"}}"

    def field(dtype=b'"F32"', shape=b"[2]", offsets=b"[0,8]"):
        return raw(b'"dtype":' + dtype + b',"shape":' + shape + b',"data_offsets":' + offsets)

    bad = {
        "empty": (b"", "the file is empty"),
        "seven_bytes": (b"\x08" + bytes(6), "it has 7 bytes"),
        "zeros": (bytes(64), "begins with zeros"),
        "web_page": (b"<!DOCTYPE html><html><body>404</body></html>", "this is a web page"),
        "lfs_pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "pointer of Git LFS"),
        "json_answer": (b'{"error": "Access denied"}', "this is a JSON text"),
        "gguf": (b"GGUF\3\0\0\0" + bytes(16), "this is a GGUF file"),
        "old_pickle": (b"\x80\x02]q\x00.", "before version 1.6"),
        "archive_inside": (archive([("a", b"b")]), "rename it to .ckpt"),
        "header_over_limit": (struct.pack("<Q", 100_000_001) + b"{}" + eight, "would have 100000001 bytes"),
        "header_of_eight_exabytes": (struct.pack("<Q", 1 << 63) + b"{}", "would have 9223372036854775808 bytes"),
        "header_beyond_file": (struct.pack("<Q", 3) + b"{}", "should have 3 bytes, but the file ends after 2"),
        "header_empty": (struct.pack("<Q", 0) + b"x", "does not start with '{'"),
        "header_is_list": (safetensors("[]"), "does not start with '{'"),
        "header_with_byte_order_mark": (safetensors(b"\xef\xbb\xbf{}"), "does not start with '{'"),
        "header_unclosed": (safetensors(b'{"a":1'), "does not end with '}'"),
        "header_padded_with_newline": (safetensors(b"{}\n"), "does not end with '}'"),
        "header_padded_with_zero": (safetensors(b"{}\0"), "does not end with '}'"),
        "json_without_colon": (safetensors(b'{"a" {}}'), "not valid JSON near byte"),
        "json_comma_behind_last": (safetensors(b'{"a":{},}'), "has no field"),
        "json_comma_first": (safetensors(b"{,}"), "not valid JSON near byte"),
        "json_comment": (safetensors(b"{/* */}"), "not valid JSON near byte"),
        "json_single_quotes": (safetensors(b"{'a':{}}"), "not valid JSON near byte"),
        "json_two_objects": (safetensors(b"{}{}"), "not valid JSON near byte"),
        "json_nan": (safetensors(field(shape=b"[NaN]"), eight), "not valid JSON near byte"),
        "json_number_out_of_range": (safetensors(field(shape=b"[1e999]"), eight), "not valid JSON near byte"),
        "json_control_character": (safetensors(b'{"a\x01":{}}'), "not valid JSON near byte"),
        "name_invalid_utf8": (safetensors(b'{"\xff":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight), "not valid JSON"),
        "name_overlong_utf8": (safetensors(b'{"\xc0\x80":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight), "not valid JSON"),
        "name_lone_surrogate": (safetensors(b'{"\\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight), "not valid JSON"),
        "name_with_zero": (safetensors({"a\0b": tensor()}, eight), "at most 1024 are allowed"),
        "name_too_long": (safetensors({"n" * 1025: tensor()}, eight), "has 1025 bytes"),
        "name_twice": (safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', eight), 'the name "a" occurs twice'),
        "name_twice_escaped": (safetensors(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}', eight), 'the name "a" occurs twice'),
        "entry_number": (safetensors({"a": 5}), 'the value of "a" is not an object'),
        "entry_text": (safetensors({"a": "x"}), "is not an object"),
        "entry_list": (safetensors({"a": []}), "is not an object"),
        "entry_null": (safetensors({"a": None}), "is not an object"),
        "entry_flag": (safetensors({"a": True}), "is not an object"),
        "field_unknown": (safetensors({"a": dict(tensor(), strides=[1])}, eight), 'the unknown field "strides"'),
        "field_twice": (safetensors(raw(b'"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]'), eight), 'the field "dtype" twice'),
        "no_dtype": (safetensors(raw(b'"shape":[2],"data_offsets":[0,8]'), eight), 'no field "dtype"'),
        "no_shape": (safetensors(raw(b'"dtype":"F32","data_offsets":[0,8]'), eight), 'no field "shape"'),
        "no_offsets": (safetensors(raw(b'"dtype":"F32","shape":[2]'), eight), 'no field "data_offsets"'),
        "dtype_unknown": (safetensors(field(dtype=b'"F31"'), eight), 'has the dtype "F31"'),
        "dtype_lower_case": (safetensors(field(dtype=b'"f32"'), eight), 'has the dtype "f32"'),
        "dtype_with_zero": (safetensors(field(dtype=b'"F32\\u0000"'), eight), "has the dtype"),
        "dtype_number": (safetensors(field(dtype=b"32"), eight), "a value of a wrong type"),
        "dtype_list": (safetensors(field(dtype=b'["F32"]'), eight), "a value of a wrong type"),
        "shape_number": (safetensors(field(shape=b"2"), eight), "a value of a wrong type"),
        "shape_negative": (safetensors(field(shape=b"[-2]"), eight), "a value of a wrong type"),
        "shape_fraction": (safetensors(field(shape=b"[2.0]"), eight), "a value of a wrong type"),
        "shape_text": (safetensors(field(shape=b'["2"]'), eight), "a value of a wrong type"),
        "shape_flag": (safetensors(field(shape=b"[true]"), eight), "a value of a wrong type"),
        "shape_nested": (safetensors(field(shape=b"[[2]]"), eight), "a value of a wrong type"),
        "shape_nested_deep": (safetensors(field(shape=b"[" * 5000 + b"]" * 5000), eight), "a value of a wrong type"),
        "shape_table": (safetensors(field(shape=b"{}"), eight), "a value of a wrong type"),
        "shape_nine_dimensions": (safetensors(field(shape=b"[1,1,1,1,1,1,1,1,2]"), eight), "more than 8 numbers"),
        "shape_of_63_bits": (safetensors(field(shape=b"[9223372036854775808]"), eight), "overflows 63 bits"),
        "shape_of_65_bits": (safetensors(field(shape=b"[18446744073709551616]"), eight), "a value of a wrong type"),
        "shape_product_overflows": (safetensors(field(shape=b"[4294967296,4294967296]"), eight), "overflows 64 bits"),
        "shape_product_wraps_to_size": (safetensors(field(shape=b"[4611686018427387905,4]", offsets=b"[0,16]"), bytes(16)), "overflows 64 bits"),
        "strides_overflow_beside_zero": (safetensors(field(shape=b"[0,4294967296,4294967296]", offsets=b"[0,0]")), "overflows"),
        "offsets_one": (safetensors(field(offsets=b"[8]"), eight), "are not two numbers"),
        "offsets_three": (safetensors(field(offsets=b"[0,8,8]"), eight), "are not two numbers"),
        "offsets_none": (safetensors(field(offsets=b"[]"), eight), "are not two numbers"),
        "offsets_negative": (safetensors(field(offsets=b"[-8,0]"), eight), "a value of a wrong type"),
        "offsets_fractions": (safetensors(field(offsets=b"[0.0,8.0]"), eight), "a value of a wrong type"),
        "offsets_texts": (safetensors(field(offsets=b'["0","8"]'), eight), "a value of a wrong type"),
        "offsets_reversed": (safetensors(field(offsets=b"[8,0]"), eight), "ends before it begins"),
        "offsets_outside": (safetensors(field(offsets=b"[0,16]", shape=b"[4]"), eight), "ends at byte 16 of the data, the file has 8"),
        "offsets_of_64_bits": (safetensors(field(offsets=b"[0,18446744073709551615]"), eight), "ends at byte 18446744073709551615"),
        "size_too_small": (safetensors(field(shape=b"[3]"), eight), "8 bytes by its offsets, 12 by its shape"),
        "size_too_large": (safetensors(field(shape=b"[1]"), eight), "8 bytes by its offsets, 4 by its shape"),
        "size_of_other_dtype": (safetensors(field(dtype=b'"F16"'), eight), "8 bytes by its offsets, 4 by its shape"),
        "overlap": (safetensors({"a": tensor(), "b": tensor(begin=4, end=12)}, bytes(12)), 'tensor "b" overlaps'),
        "overlap_equal": (safetensors({"a": tensor(), "b": tensor()}, eight), "overlaps"),
        "overlap_of_empty_tensor": (safetensors({"a": tensor(), "b": tensor(shape=(0,), begin=4, end=4)}, eight), "overlaps"),
        "hole": (safetensors({"a": tensor(), "b": tensor(begin=12, end=20)}, bytes(20)), 'bytes before tensor "b"'),
        "hole_at_start": (safetensors({"a": tensor(begin=4, end=12)}, bytes(12)), 'bytes before tensor "a"'),
        "trailing_bytes": (safetensors(one, bytes(9)), "1 bytes behind the last tensor"),
        "trailing_bytes_without_tensors": (safetensors({}, b"x"), "1 bytes behind the last tensor"),
        "cut_off": (safetensors(one, bytes(7)), "The file is cut off"),
        "boolean_two": (safetensors({"a": tensor("BOOL", (2,), 0, 2)}, b"\1\2"), "bytes other than 0 and 1"),
        "metadata_number": (safetensors({"__metadata__": {"x": 1}, **one}, eight), 'the metadata value of "x" is not a string'),
        "metadata_null": (safetensors({"__metadata__": {"x": None}, **one}, eight), "is not a string"),
        "metadata_table": (safetensors({"__metadata__": {"x": {}}, **one}, eight), "is not a string"),
        "metadata_list": (safetensors({"__metadata__": {"x": ["y"]}, **one}, eight), "is not a string"),
        "metadata_is_text": (safetensors({"__metadata__": "x", **one}, eight), 'the value of "__metadata__" is not an object'),
        "metadata_key_twice": (safetensors(b'{"__metadata__":{"x":"1","x":"2"}}'), 'the metadata key "x" occurs twice'),
        "metadata_twice": (safetensors(b'{"__metadata__":{},"__metadata__":{}}'), "occurs twice"),
    }
    wide = {f"t{i}": tensor("U8", (1,), i, i + 1) for i in range(20)}
    good = {
        "no_tensors": safetensors({}),
        "one": safetensors(one, eight),
        "padded": safetensors(one, eight, pad=13),
        "metadata": safetensors({"__metadata__": {"ss_network_dim": "4", "é": "ü"}, **one}, eight),
        "scalar": safetensors({"a": tensor("F64", (), 0, 8)}, eight),
        "no_elements": safetensors({"a": tensor(shape=(3, 0), begin=0, end=0), "b": tensor()}, eight),
        "eight_dimensions": safetensors({"a": tensor("U8", (1, 1, 2, 1, 2, 1, 2, 1), 0, 8)}, eight),
        "long_name": safetensors({"n" * 1024: tensor()}, eight),
        "twenty": safetensors(wide, bytes(20)),
        "any_order": safetensors({"b": tensor(begin=8, end=16), "a": tensor()}, bytes(16)),
        "odd_names": safetensors({"../x": tensor(), "__class__": tensor(begin=8, end=16), "%s%n": tensor(begin=16, end=24)}, bytes(24)),
    }
    for dtype, size in {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}.items():
        good["dtype_" + dtype.lower()] = safetensors({"a": tensor(dtype, (3,), 0, 3 * size)}, bytes(3 * size))
    return bad, good


def zip_files():
    """Defects of the archive itself; they are read as .ckpt."""
    whole = torch_file(pickle(dictionary(("a", rebuilt(storage())))))
    code = pickle(dictionary(("a", rebuilt(storage()))))

    def parts(**options):
        return Zip().add("archive/data.pkl", code, **options).add("archive/data/0", FLOATS)

    zipped = parts()
    in64 = 0xFFFFFFFF
    bad = {
        "cut_in_half": (whole[:len(whole) // 2], "its directory at the end is missing"),
        "cut_by_one": (whole[:-1], "its directory at the end is missing"),
        "first_record_alone": (whole[:60], "its directory at the end is missing"),
        "bytes_behind": (whole + b"x", "its directory at the end is missing"),
        "bytes_in_front": (b"PK\3\4" + whole, "its directory is damaged"),
        "comment_longer_than_said": (parts().done(comment=b"hello", comment_bytes=3), "its directory at the end is missing"),
        "no_entries": (archive([]), "without a data.pkl"),
        "compressed": (parts(method=8).done(), "is compressed"),
        "method_unknown": (parts(method=99).done(), "is compressed"),
        "encrypted": (parts(flags=1).done(), "is encrypted"),
        "strongly_encrypted": (parts(flags=0x41).done(), "is encrypted"),
        "directory_hidden": (parts(flags=0x2000).done(), "is encrypted"),
        "name_twice": (archive([("archive/data.pkl", code)] * 2), "occurs twice"),
        "name_absolute": (archive([("/archive/data.pkl", code)]), "is not allowed"),
        "name_leaves": (archive([("../archive/data.pkl", code)]), "is not allowed"),
        "name_leaves_inside": (archive([("archive/../../data.pkl", code)]), "is not allowed"),
        "name_backslash": (archive([("archive\\data.pkl", code)]), "is not allowed"),
        "name_with_zero": (archive([("archive/data.pkl\0.txt", code)]), "is not allowed"),
        "name_empty": (archive([("", code)]), "is not allowed"),
        "local_name_differs": (parts(local_name=b"archive/data.pkm").done(), "another name in front of its data"),
        "local_method_differs": (parts(local_method=8).done(), "is damaged"),
        "local_flags_differ": (parts(local_flags=2).done(), "described otherwise in front"),
        "local_checksum_differs": (parts(local_crc=1).done(), "described otherwise in front"),
        "local_size_differs": (parts(local_size=5).done(), "described otherwise in front"),
        "central_signature": (parts(central_signature=b"PK\1\3").done(), "its directory is damaged"),
        "two_sizes": (parts(stored=3).done(), "has two different sizes"),
        "checksum_wrong": (parts(crc=0x12345678).done(), "its checksum differs"),
        "size_beyond_file": (parts(size=100000).done(), "lies outside the file"),
        "offset_beyond_file": (parts(offset=100000).done(), "lies outside the file"),
        "offset_of_other_entry": (Zip().add("archive/data.pkl", code).add("archive/data.pkl2", code, offset=0).done(), "another name in front"),
        "contents_overlap": (overlapping(code), "two of its entries overlap"),
        "count_too_small": (parts().done(count=1), "another length than its end says"),
        "count_too_large": (parts().done(count=3), "lies outside the file"),
        "counts_differ": (parts().done(count=2, first=1), "several files"),
        "two_disks": (parts().done(disk=1), "several files"),
        "directory_bytes_too_small": (parts().done(bytes_=20), "longer than it says"),
        "directory_bytes_too_large": (parts().done(bytes_=len(zipped.directory) + 1), "another length than its end says"),
        "directory_outside": (parts().done(offset=0x7FFFFFFF), "lies outside the file"),
        "extra_field_damaged": (parts(extra=struct.pack("<HH", 1, 200)).done(), "a damaged extra field"),
        "extra64_too_short": (parts(size=in64, local_size=len(code), extra=struct.pack("<HHI", 1, 4, 1)).done(), "too short"),
        "zip64_locator_outside": (zipped.body + zipped.directory + zipped.end64(position=1 << 60) + zipped.end(), "lies outside the file"),
        "zip64_record_damaged": (zipped.body + zipped.directory + zipped.end64(signature=b"PK\6\5") + zipped.end(), "zip64 directory record is damaged"),
        "zip64_count_differs": (zipped.body + zipped.directory + zipped.end64(count=1) + zipped.end(), "two records at its end disagree"),
        "zip64_offset_differs": (zipped.body + zipped.directory + zipped.end64(offset=4) + zipped.end(), "two records at its end disagree"),
        "zip64_two_counts": (zipped.body + zipped.directory + zipped.end64(first=1) + zipped.end(), "two records at its end disagree"),
        "zip64_two_disks": (zipped.body + zipped.directory + zipped.end64(disk=1) + zipped.end(), "several files"),
        "zip64_many_entries": (zipped.body + zipped.directory + zipped.end64(count=1 << 40) + zipped.end(count=0xFFFF), "more than 1000000 entries"),
        "local_signature": (Zip().add("archive/data.pkl", code).add("archive/data/0", FLOATS, signature=b"PK\3\5").done(), 'entry "archive/data/0" is damaged'),
    }
    good = {
        "plain": whole,
        "checksum_not_computed": Zip().add("a/data.pkl", code, crc=0).add("a/data/0", FLOATS, crc=0).done(),
        "sizes_behind": Zip().add("a/data.pkl", code, flags=0x808, local_crc=0, local_size=0).add("a/data/0", FLOATS).done(),
        "zip64": zipped.body + zipped.directory + zipped.end64() + zipped.end(),
        "zip64_needed": zipped.body + zipped.directory + zipped.end64() + zipped.end(count=0xFFFF, bytes_=in64, offset=in64),
        "zip64_sizes": parts(size=len(code), local_size=in64, local_extra=struct.pack("<HHQQ", 1, 16, len(code), len(code))).done(),
        "comment": parts().done(comment=b"made by hand"),
    }
    return bad, good


def overlapping(code):
    """The second entry's record lies inside the first one's content."""
    inner = Zip().add("archive/data/0", FLOATS)
    outer = Zip().add("archive/data.pkl", code + inner.body)
    outer.directory += inner.directory[:42] + struct.pack("<I", len(outer.body) - len(inner.body)) + inner.directory[46:]
    outer.count += 1
    return outer.done()


def pickle_bodies():
    """(code, expected message) of pickles that are refused whatever lies around them."""
    fine = rebuilt(storage())

    def held(value):
        return pickle(dictionary(("a", value)))

    def call(module, name, *arguments):
        return held(name_of(module, name) + tuple_(*arguments) + b"R")

    bad = {
        "empty": (b"", "its pickle is cut off"),
        "os_system": (call("os", "system", text("touch x")), '"os.system"'),
        "posix_system": (call("posix", "system", text("touch x")), '"posix.system"'),
        "eval": (call("builtins", "eval", text("1")), '"builtins.eval"'),
        "exec_python2": (call("__builtin__", "exec", text("1")), '"__builtin__.exec"'),
        "popen": (call("subprocess", "Popen", text("id")), '"subprocess.Popen"'),
        "resolve_name": (call("pkgutil", "resolve_name", text("os:system")), '"pkgutil.resolve_name"'),
        "getattr": (call("builtins", "getattr", text("a"), text("b")), '"builtins.getattr"'),
        "torch_load": (call("torch", "load", text("x")), '"torch.load"'),
        "torch_hub": (call("torch.hub", "load", text("x")), '"torch.hub.load"'),
        "numpy_array": (call("numpy.core.multiarray", "_reconstruct"), '"numpy.core.multiarray._reconstruct"'),
        "codecs_encode": (call("_codecs", "encode", text("x")), '"_codecs.encode"'),
        "older_rebuild": (call("torch._utils", "_rebuild_tensor"), '"torch._utils._rebuild_tensor"'),
        "attribute_path": (held(name_of("torch._utils", "_rebuild_tensor_v2.__globals__")), "__globals__"),
        "module_of_lightning": (held(name_of("pytorch_lightning.callbacks", "ModelCheckpoint")), "ModelCheckpoint"),
        "global_on_stack": (held(text("os") + text("system") + b"\x93"), '"os.system"'),
        "global_of_numbers": (held(b"NN\x93"), "where a name is expected"),
        "global_without_end": (pickle(b"ctorch"), "a name without an end"),
        "global_name_long": (pickle(b"c" + b"m" * 600 + b"\nname\n"), "a name without an end"),
        "reduce_of_text": (held(text("x") + b")R"), "a value of a wrong type"),
        "reduce_nested": (held(name_of("collections", "OrderedDict") + b")R)R"), "a value of a wrong type"),
        "build_on_list": (held(b"]}b"), "where a dictionary is expected"),
        "build_with_text": (held(b"}" + text("x") + b"b"), "the attributes of a dictionary"),
        "opcode_inst": (pickle(b"(ios\nsystem\n"), "the instruction 0x69"),
        "opcode_obj": (pickle(b"(" + text("x") + b"o"), "the instruction 0x6f"),
        "opcode_newobj": (held(b"N)\x81"), "the instruction 0x81"),
        "opcode_newobj_ex": (held(b"N)}\x92"), "the instruction 0x92"),
        "opcode_extension": (held(b"\x82\x01"), "the instruction 0x82"),
        "opcode_persistent_text": (held(b"Pid\n"), "the instruction 0x50"),
        "opcode_duplicate": (held(b"N2"), "the instruction 0x32"),
        "opcode_old_number": (held(b"I1\n"), "the instruction 0x49"),
        "opcode_old_text": (held(b"S'a'\n"), "the instruction 0x53"),
        "opcode_set": (held(b"\x8f"), "the instruction 0x8f"),
        "opcode_bytearray": (held(b"\x96" + bytes(8)), "the instruction 0x96"),
        "opcode_next_buffer": (held(b"\x97"), "the instruction 0x97"),
        "opcode_unknown": (held(b"\xff"), "the instruction 0xff"),
        "protocol_0": (b"\x80\x00N.", "has protocol 0"),
        "protocol_1": (b"\x80\x01N.", "has protocol 1"),
        "protocol_5": (b"\x80\x05N.", "has protocol 5"),
        "cut_in_text": (pickle(b"X\xff\xff\xff\x7f"), "is cut off"),
        "cut_in_long_text": (b"\x80\x04\x8d" + b"\xff" * 8, "is cut off"),
        "cut_in_number": (b"\x80\x02J\x01", "is cut off"),
        "without_stop": (b"\x80\x02}", "is cut off"),
        "bytes_behind_stop": (held(fine) + b"N", "bytes behind the end"),
        "stack_empty": (pickle(b""), "does not end with one value"),
        "stack_of_two": (pickle(b"}}"), "does not end with one value"),
        "mark_left": (pickle(b"}("), "does not end with one value"),
        "mark_missing": (pickle(b"t"), "a mark that was not set"),
        "takes_below_mark": (pickle(b"}(N0000"), "from an empty stack"),
        "key_without_value": (pickle(b"}(" + text("a") + b"u"), "a dictionary key without a value"),
        "items_into_list": (pickle(b"](" + text("a") + b"Nu"), "where a dictionary is expected"),
        "append_to_dictionary": (pickle(b"}Na"), "where a list is expected"),
        "memo_unknown": (pickle(b"h\7"), "the remembered value 7"),
        "integer_of_72_bits": (pickle(b"\x8a\x09" + bytes(9)), "more than 64 bits"),
        "integer_of_gigabytes": (pickle(b"\x8b\xff\xff\xff\x7f"), "more than 64 bits"),
        "nests_too_deep": (pickle(b"]" * 70 + b"a" * 69), "nests deeper than 64 levels"),
        "tuples_too_deep": (pickle(b"N" + b"\x85" * 70), "nests deeper than 64 levels"),
        "marks_too_deep": (pickle(b"(" * 70), "nests deeper than 64 levels"),
        "no_dictionary": (pickle(b"N"), "it holds no dictionary"),
        "list_on_top": (pickle(b"]"), "it holds no dictionary"),
        "no_tensors": (pickle(b"}"), "no named tensors"),
        "tensors_without_names": (pickle(b"}(" + number(1) + fine + b"u"), "no named tensors"),
        "state_dict_inside_itself": (pickle(b"}q\1(" + text("state_dict") + b"h\1u"), "no named tensors"),
        "name_invalid_utf8": (pickle(dictionary((b"\xff\xfe", fine))), "expected UTF-8"),
        "name_with_zero": (pickle(dictionary(("a\0b", fine))), "no zero among them"),
        "name_too_long": (pickle(dictionary(("n" * 1025, fine))), "at most 1024 bytes"),
        "storage_not_named": (held(rebuilt(tuple_(text("module"), name_of("torch", "FloatStorage"), text("0"), text("cpu"), number(6)) + b"Q")), "something else than a storage"),
        "storage_of_two_fields": (held(rebuilt(tuple_(text("storage"), text("x")) + b"Q")), "something else than a storage"),
        "storage_without_type": (held(rebuilt(storage("Size"))), "a storage without a type"),
        "storage_of_dtype_name": (held(rebuilt(storage("float32"))), "a storage without a type"),
        "storage_negative": (held(rebuilt(storage(size=-1))), "a negative size or a long key"),
        "storage_key_long": (held(rebuilt(storage(key="0" * 33))), "a negative size or a long key"),
        "storage_from_none": (held(rebuilt(b"NQ")), "the tuple of a storage"),
        "offset_negative": (held(rebuilt(storage(), offset=-1)), "a negative offset"),
        "size_negative": (held(rebuilt(storage(), shape=(-2, 3))), "a negative size or stride"),
        "stride_negative": (held(rebuilt(storage(), strides=(-3, 1))), "a negative size or stride"),
        "strides_missing": (held(rebuilt(storage(), strides=(1,))), "unequal numbers of sizes and strides"),
        "nine_dimensions": (held(rebuilt(storage(), shape=(1,) * 9, strides=(1,) * 9)), "more than 8 dimensions"),
        "tensor_without_arguments": (held(name_of("torch._utils", "_rebuild_tensor_v2") + b")R"), "with 0 arguments"),
        "parameter_of_none": (held(name_of("torch._utils", "_rebuild_parameter") + tuple_(b"N", b"\x88", b"}") + b"R"), "where a tensor is expected"),
        "ordered_dictionary_with_items": (held(name_of("collections", "OrderedDict") + tuple_(b"]") + b"R"), "an OrderedDict with arguments"),
        "type_called": (held(name_of("torch", "FloatStorage") + b")R"), "calls a type name"),
    }
    return bad


def torch_files():
    fine = rebuilt(storage())

    def one(value, storages=(FLOATS,)):
        return torch_file(pickle(dictionary(("a", value))), storages)

    large = 0x7FFFFFFF
    bad = {"pickle_" + name: (torch_file(code), part) for name, (code, part) in pickle_bodies().items()}
    bad |= {
        "no_pickle": (archive([("archive/data/0", FLOATS)]), "without a data.pkl"),
        "pickle_not_in_folder": (archive([("data.pkl", b"x")]), "without a data.pkl"),
        "two_pickles": (archive([("a/data.pkl", b"x"), ("b/data.pkl", b"x")]), "more than one data.pkl"),
        "torch_script": (archive([("a/data.pkl", b"x"), ("a/constants.pkl", b"x")]), "TorchScript"),
        "big_endian": (torch_file(pickle(dictionary(("a", fine))), order=b"big"), "not little-endian"),
        "storage_missing": (one(fine, ()), "which the file has not"),
        "storage_path": (one(rebuilt(storage(key="../../data.pkl"))), "which the file has not"),
        "storage_short": (one(fine, (FLOATS[:-1],)), "a storage of 23 bytes"),
        "storage_of_other_type": (one(rebuilt(storage("DoubleStorage"))), "its description says 6 elements of 8 bytes"),
        "shape_beyond_storage": (one(rebuilt(storage(), shape=(7,), strides=(1,))), "reaches beyond its storage"),
        "offset_beyond_storage": (one(rebuilt(storage(), offset=1)), "reaches beyond its storage"),
        "stride_beyond_storage": (one(rebuilt(storage(), shape=(2, 2), strides=(5, 1))), "reaches beyond its storage"),
        "expanded": (one(rebuilt(storage(), shape=(1000, 1000), strides=(0, 0))), "into more bytes than the file has"),
        "size_overflows": (one(rebuilt(storage(), shape=(large,) * 3, strides=(0,) * 3)), "overflows 64 bits"),
        "size_overflows_beside_zero": (one(rebuilt(storage(), shape=(0,) + (large,) * 3, strides=(0,) * 4)), "overflows"),
        "boolean_two": (one(rebuilt(storage("BoolStorage", size=2), shape=(2,), strides=(1,)), (b"\1\2",)), "bytes other than 0 and 1"),
        "safetensors_inside": (safetensors({"a": tensor()}, bytes(8)), "rename it to .safetensors"),
        "web_page": (b"<html><head><title>Sign in</title>", "this is a web page"),
        "empty": (b"", "the file is empty"),
    }
    zipped_bad, zipped_good = zip_files()
    bad |= {"zip_" + name: case for name, case in zipped_bad.items()}
    good = {"zip_" + name: content for name, content in zipped_good.items()}
    halves = struct.pack("<4e", 1, 2, 3, 4)
    good |= {
        "two_tensors": torch_file(pickle(dictionary(("a", fine), ("b", rebuilt(storage("HalfStorage", "1", 4), shape=(4,), strides=(1,))))), (FLOATS, halves)),
        "state_dict": torch_file(pickle(dictionary(("epoch", number(3)), ("state_dict", dictionary(("a", fine)))))),
        "transposed": one(rebuilt(storage(), shape=(3, 2), strides=(1, 3))),
        "part": one(rebuilt(storage(), offset=2, shape=(2, 2), strides=(2, 1))),
        "expanded_a_little": one(rebuilt(storage(), shape=(4,), strides=(0,))),
        "scalar": one(rebuilt(storage(), offset=5, shape=(), strides=())),
        "no_elements": one(rebuilt(storage(), shape=(0, 3), strides=(3, 1))),
        "parameter": one(name_of("torch._utils", "_rebuild_parameter") + tuple_(fine, b"\x88", HOOKS) + b"R"),
        "other_values": torch_file(pickle(dictionary(("n", b"N"), ("t", b"\x88"), ("f", b"G" + bytes(8)), ("l", b"](" + number(1) + b"e"), ("a", fine)))),
        "protocol_4": torch_file(b"\x80\x04\x95" + bytes(8) + b"}\x94(\x8c\x01a\x94" + fine + b"u."),
        "metadata": torch_file(pickle(name_of("collections", "OrderedDict") + b")R(" + text("a") + fine + b"u}" + text("_metadata") + b"}sb")),
    }
    return bad, good


def npz_files():
    def one(content, name="x.npy"):
        return archive([(name, content)])

    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    bad = {
        "empty": (b"", "its directory at the end is missing"),
        "cut_off": (one(npy())[:-10], "its directory at the end is missing"),
        "checksum_wrong": (Zip().add("x.npy", npy(), crc=7).done(), "its checksum differs"),
        "compressed": (Zip().add("x.npy", npy(), method=8).done(), "is compressed"),
        "name_without_ending": (one(npy(), "x.txt"), "does not end in .npy"),
        "name_twice": (archive([("x.npy", npy())] * 2), "occurs twice"),
        "magic_wrong": (one(npy(magic=b"\x93NUMPX")), "does not begin as an array of numpy"),
        "array_of_nine_bytes": (one(npy()[:9]), "does not begin as an array of numpy"),
        "version_0": (one(npy(version=0)), "format version 0"),
        "version_4": (one(npy(version=4)), "format version 4"),
        "header_beyond_file": (one(npy(length=5000)), "cut off or too long"),
        "header_of_megabytes": (one(npy(version=2, length=1 << 24)), "cut off or too long"),
        "header_empty": (one(npy(header="")), "not a dictionary as numpy writes it"),
        "header_list": (one(npy(header="[]")), "not a dictionary as numpy writes it"),
        "header_unclosed": (one(npy(header=header[:-1])), "its header"),
        "header_goes_on": (one(npy(header=header + " x")), "goes on after its end"),
        "header_runs_code": (one(npy(header="{'descr': __import__('os').system('id')}")), "not a dictionary as numpy writes it"),
        "header_text_unclosed": (one(npy(header="{'descr")), "a text without end"),
        "key_unknown": (one(npy(header=header[:-1] + "'code': 'x'}")), 'the key "code"'),
        "key_twice": (one(npy(header="{'descr': '<f4', 'descr': '<f4'}")), 'the key "descr"'),
        "key_missing": (one(npy(header="{'descr': '<f4', 'shape': (2,)}")), "lacks a key"),
        "order_number": (one(npy(order="0")), "neither True nor False"),
        "shape_negative": (one(npy(shape="(-2,)")), "no tuple of whole numbers"),
        "shape_fraction": (one(npy(shape="(2.0,)")), "its header"),
        "shape_of_64_bits": (one(npy(shape="(9223372036854775808,)")), "no tuple of whole numbers"),
        "shape_33_dimensions": (one(npy(shape="(" + "1," * 33 + ")", data=bytes(4))), "more than 32 dimensions"),
        "shape_product_overflows": (one(npy(shape="(4611686018427387904, 4)")), "its shape is too large"),
        "strides_overflow_beside_zero": (one(npy(shape="(0, 4611686018427387904, 4)", data=b"")), "its shape is too large"),
        "data_short": (one(npy(data=bytes(7))), "asks for 8 bytes, it has 7"),
        "data_long": (one(npy(data=bytes(9))), "asks for 8 bytes, it has 9"),
        "objects": (one(npy(descr="'|O'")), '"|O" are not read'),
        "big_endian": (one(npy(descr="'>f4'")), '">f4" are not read'),
        "unicode": (one(npy(descr="'<U2'")), '"<U2" are not read'),
        "complex": (one(npy(descr="'<c8'")), '"<c8" are not read'),
        "dates": (one(npy(descr="'<M8[s]'")), "are not read"),
        "fields": (one(npy(descr="[('a', '<f4')]")), "not a dictionary as numpy writes it"),
        "boolean_two": (one(npy(descr="'|b1'", data=b"\1\2")), "bytes other than 0 and 1"),
    }
    types = {"<f8": 8, "<f4": 4, "<f2": 2, "<i8": 8, "<i4": 4, "<i2": 2, "|i1": 1, "|u1": 1, "|b1": 1}
    good = {f"type_{name.strip('<|')}": one(npy(descr=f"'{name}'", data=bytes(2 * size))) for name, size in types.items()}
    good |= {
        "latents": archive([("latents.npy", npy(shape="(4, 2, 2)", data=bytes(64))), ("original_size.npy", npy("'<i8'", "(2,)", bytes(16)))]),
        "column_major": one(npy(shape="(2, 3)", order="True", data=struct.pack("<6f", *range(6)))),
        "scalar": one(npy(shape="()", data=bytes(4))),
        "no_elements": one(npy(shape="(0, 5)", data=b"")),
        "version_2": one(npy(version=2)),
        "version_3": one(npy(version=3)),
        "no_arrays": archive([]),
    }
    return bad, good
