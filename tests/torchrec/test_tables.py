"""Are tables read from each text in which people have them, and is anything else refused with the table and the field?"""

import json
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.torchrec.embedding_tables import TorchRecTable, read_tables
from engine.torchrec.pooling_factors import pooling_sentences, read_pooling, whole_lookups
from tests.cases import each, examples

PRINTED = """
[EmbeddingBagConfig(num_embeddings=1000, embedding_dim=64, name='t0', data_type=<DataType.FP16: 'FP16'>, feature_names=['f0'],
 weight_init_max=None, init_fn=None, need_pos=False, input_dim=None,
 use_virtual_table=False, pooling=<PoolingType.SUM: 'SUM'>),
 EmbeddingBagConfig(num_embeddings=20000000, embedding_dim=128, name='t1', data_type=<DataType.FP32: 'FP32'>,
 feature_names=['f1', 'f2'], weight_init_max=None, init_fn=functools.partial(<function uniform_ at 0x7f090a009620>, a=-1, b=1),
 pooling=<PoolingType.MEAN: 'MEAN'>),EmbeddingBagConfig(num_embeddings=7, embedding_dim=4, name="it's", data_type=<DataType.BF16>,
 feature_names=[], init_fn=<function <lambda> at 0x7f09298d84a0>, pooling=<PoolingType.SUM: 'SUM'>),]
"""
SOURCE = """
# EmbeddingBagConfig(num_embeddings=1, embedding_dim=1, name="not this")
class EmbeddingBagConfig(Base): ...
tables = [
    EmbeddingBagConfig(  # users
        name="t0", num_embeddings=1_000, embedding_dim=2**6, data_type=DataType.FP16, feature_names=["f0",],
    ),
    torchrec.EmbeddingBagConfig(20 * 1000 ** 2, 1 << 7, 't' "1", torch.float32, ("f1", "f2"), pooling=PoolingType.MEAN),
    EmbeddingBagConfig(num_embeddings=(3 + 4), embedding_dim=8 // 2, name="it's", data_type=torch.bfloat16),
]
"""
LISTED = [
    {"name": "t0", "num_embeddings": 1000, "embedding_dim": 64, "data_type": "FP16", "feature_names": ["f0"]},
    {"name": "t1", "num_embeddings": 20_000_000, "embedding_dim": 128, "feature_names": ["f1", "f2"], "pooling": "MEAN"},
    {"name": "it's", "num_embeddings": 7, "embedding_dim": 4, "data_type": "DataType.BF16", "feature_names": None},
]
TABLES = (
    TorchRecTable("t0", 1000, 64, "fp16", ("f0",)),
    TorchRecTable("t1", 20_000_000, 128, "fp32", ("f1", "f2"), True),
    TorchRecTable("it's", 7, 4, "bf16", ("it's",)),
)
TEXTS = {
    "printed": PRINTED,
    "printed amid prose": f"Here's what I have: {PRINTED.strip()} Isn't it nice? a < b [",
    "printed on one line": PRINTED.replace("\n", ""),
    "source": SOURCE,
    "JSON": json.dumps(LISTED),
    "JSON of an object": "\ufeff" + json.dumps({"comment": "x", "tables": LISTED}),
}


@each("text", TEXTS)
def test_each_way_of_writing_tables_gives_the_same_tables(text: str) -> None:
    assert read_tables(TEXTS[text]).tables == TABLES


def test_what_is_not_taken_over_is_said() -> None:
    said = " ".join(read_tables(PRINTED.replace("need_pos=False", "need_pos=True, colour='red'")).sentences)
    assert "MEAN of 1 table is timed as SUM" in said
    assert "init_fn" in said and "need_pos of 1 table" in said and "colour" in said
    assert read_tables(json.dumps(LISTED[:1])).sentences == ()


WRONG = {
    "num_embeddings=0, embedding_dim=4, name='a'": ("Table 1 ('a'): num_embeddings is 0", "1 to 100,000,000,000"),
    "num_embeddings=1.5, embedding_dim=4": ("Table 1: num_embeddings is 1.5", "whole number"),
    "num_embeddings=9**99, embedding_dim=4": ("Table 1: num_embeddings", "value is not in the text"),
    "num_embeddings=ROWS, embedding_dim=4": ("Table 1: num_embeddings is ROWS", "value is not in the text", "print(tables)"),
    "num_embeddings=__import__('os').getpid(), embedding_dim=4": ("num_embeddings", "value is not in the text"),
    "num_embeddings=True, embedding_dim=4": ("num_embeddings is True",),
    "num_embeddings=10": ("Table 1 has no embedding_dim",),
    "num_embeddings=10, embedding_dim=5000": ("embedding_dim is 5000", "1 to 4,096"),
    "num_embeddings=10, embedding_dim=4, data_type=DataType.INT4": ("data_type is DataType.INT4", "FP16"),
    "num_embeddings=10, embedding_dim=4, data_type=<DataType.NFP8: 'NFP8'>": ("data_type is DataType.NFP8",),
    "num_embeddings=10, embedding_dim=4, name=f't{i}'": ("name is f't{i}'", "value is not in the text"),
    "num_embeddings=10, embedding_dim=4, feature_names='f'": ("feature_names is f", '["f0"]'),
    "num_embeddings=10, embedding_dim=4, feature_names=[f for f in names]": ("feature_names", "value is not in the text"),
    "num_embeddings=10, embedding_dim=4, pooling=PoolingType.NONE": ("pooling is PoolingType.NONE", "SUM or MEAN"),
    "**fields": ("Table 1", "cannot be read"),
}


@each("arguments", WRONG)
def test_a_field_that_cannot_be_read_is_refused_by_table_and_name(arguments: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_tables(f"[EmbeddingBagConfig({arguments})]")
    assert [part for part in WRONG[arguments] if part not in str(refused.value)] == []


REFUSED = {
    "": "has no EmbeddingBagConfig",
    "[]": "has no EmbeddingBagConfig",
    "hello": "print(tables)",
    "[1, 2]": "Table 1 of the JSON is '1'",
    '{"a": [{}], "b": [{}]}': "2 lists of tables",
    '[{"num_embeddings": 1}': "is not valid: ",
    "[EmbeddingBagConfig(num_embeddings=1, embedding_dim=1) for i in range(26)]": "list comprehension",
    "EmbeddingConfig(num_embeddings=1, embedding_dim=1)": "not pooled",
    "EmbeddingBagConfig(num_embeddings=1, embedding_dim=1": "is not closed",
    "EmbeddingBagConfig(num_embeddings=1, embedding_dim=1, name='\n')": "not Python",
    "EmbeddingBagConfig(1, 1, 'a'), EmbeddingBagConfig(1, 1, 'a')": "occur twice, such as 'a'",
    "EmbeddingBagConfig(1, 1, 'a'), EmbeddingBagConfig(1, 0, 'b')": "Table 2 ('b'): embedding_dim is 0",
}


@each("text", REFUSED)
def test_a_text_without_readable_tables_is_refused(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_tables(text)
    assert REFUSED[text] in str(refused.value)


MIB = 2**20
TABLE = "EmbeddingBagConfig(num_embeddings=1, embedding_dim=1, name='t{}')"
HOSTILE = {
    "1 MiB of opening brackets": "[" * MIB,
    "1 MiB of nested objects": '{"a":' * (MIB // 5),
    "1 MiB of brackets in a call": "EmbeddingBagConfig(num_embeddings=" + "(" * MIB,
    "1 MiB of calls that do not end": "EmbeddingBagConfig(" * (MIB // 19),
    "1 MiB of minus signs": f"EmbeddingBagConfig(num_embeddings={'-' * MIB}1)",
    "1 MiB of angle brackets": f"EmbeddingBagConfig(init_fn={'<a' * (MIB // 2)})",
    "1 MiB of quotes": f"EmbeddingBagConfig(name={chr(39) * MIB})",
    "1 MiB of digits": f"EmbeddingBagConfig(num_embeddings={'9' * MIB})",
    "1 MiB of digits in JSON": f'[{{"num_embeddings": {"9" * MIB}}}]',
    "a tower of powers": "EmbeddingBagConfig(num_embeddings=9**9**9**9, embedding_dim=1)",
    "deep arithmetic": f"EmbeddingBagConfig(num_embeddings={'(' * 9000}1{')' * 9000}, embedding_dim=1)",
    "5 MiB": " " * 5 * MIB,
    "20,001 tables": "[" + ",".join(TABLE.format(number) for number in range(20_001)) + "]",
    "20,001 tables as JSON": json.dumps(
        [{"num_embeddings": 1, "embedding_dim": 1, "name": str(number)} for number in range(20_001)]
    ),
}


@each("text", HOSTILE)
def test_a_hostile_text_is_refused_within_seconds(text: str) -> None:
    begin = process_time()
    with pytest.raises(BadInput) as refused:
        read_tables(HOSTILE[text])
    assert process_time() - begin < 5  # .9 s for the slowest of them on a quiet machine
    assert len(str(refused.value)) <= 300


@examples(60)
@given(
    st.lists(
        st.builds(
            TorchRecTable,
            st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=30),
            st.integers(1, 10**11),
            st.integers(1, 4096),
            st.sampled_from(("fp32", "fp16", "bf16", "int8")),
            st.lists(st.text(st.characters(exclude_categories=("C",)), max_size=20), min_size=1, max_size=3).map(tuple),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda table: table.name,
    )
)
def test_tables_that_python_prints_are_read_back(tables: list[TorchRecTable]) -> None:
    printed = [
        f"EmbeddingBagConfig(num_embeddings={table.rows}, embedding_dim={table.dim}, name={table.name!r}, "
        f"data_type=<DataType.{table.precision.upper()}: '{table.precision.upper()}'>, feature_names={list(table.features)!r}, "
        f"pooling=<PoolingType.{'MEAN' if table.mean else 'SUM'}: ''>)"
        for table in tables
    ]
    assert read_tables(f"[{', '.join(printed)}]").tables == tuple(tables)


def test_a_sign_of_comments_in_a_name_hides_no_table_however_far_the_next_one_stands() -> None:
    names = [f"#{number}" for number in range(40)]
    for blanks in range(0, 220, 7):  # the next table stands so far behind the name
        calls = [
            f"EmbeddingBagConfig(name={name!r}, feature_names=[{name!r}],{' ' * blanks}num_embeddings=3, embedding_dim=4)"
            for name in names
        ]
        assert [table.name for table in read_tables(f"[{', '.join(calls)}]").tables] == names
    commented = "\n".join(("[", *(f"  # {call}," if number % 2 else f"  {call}," for number, call in enumerate(calls)), "]"))
    assert [table.name for table in read_tables(commented).tables] == names[::2]


def test_pooling_factors_come_by_feature_or_by_table_and_are_one_elsewhere() -> None:
    assert read_pooling("{}", TABLES) == ((1.0,), (1.0, 1.0), (1.0,))
    assert read_pooling('{"f0": 27.4, "f2": 3, "it\'s": 2}', TABLES) == ((27.4,), (1.0, 3.0), (2.0,))
    assert read_pooling('{"t0": 5, "t1": 5}', TABLES) == ((5.0,), (2.5, 2.5), (1.0,))
    assert read_pooling('{"t1": [3, 5]}', TABLES) == ((1.0,), (3.0, 5.0), (1.0,))


def test_lookups_of_a_table_are_the_sum_over_its_features_in_whole_numbers() -> None:
    assert [whole_lookups(factors) for factors in ((27.4,), (1.2, 3.4), (0.2,), (0.1, 1.0))] == [27, 5, 1, 2]
    assert pooling_sentences(((1.0, 2.0), (3.0,))) == ()
    assert "of 2 tables" in pooling_sentences(((0.2,), (27.4,), (3.0,)))[0]


@each(
    ("text", "said"),
    [
        ("[]", "are not a map"),
        ("{", "not valid JSON"),
        ("[" * 10**6, "nested too deeply"),
        ('{"f9": 3}', "'f9', which is neither a feature nor a table; did you mean f0?"),
        ('{"f0": 0}', "of 'f0' is 0"),
        ('{"f0": true}', "of 'f0' is True"),
        ('{"t1": [1, 2, 3]}', "3 numbers for 2 features"),
        ('{"t1": 3, "f1": 2}', "both the table 't1' and its feature 'f1'"),
    ],
)
def test_pooling_factors_that_cannot_be_meant_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("[", r"\[")):
        read_pooling(text, TABLES)
