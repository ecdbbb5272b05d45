"""The charts of exchanges between GPUs: do they draw what the comparison holds, and do titles and sentences tell it?"""

from streamlit.testing.v1 import AppTest

from engine.insight.network.collectives import collectives
from pages.evidence_page import collectives_panel as panel
from tests import apps
from tests.apps import fields, text


def test_a_chart_draws_each_curve_and_a_dot_and_a_ring_for_each_published_point():
    for comparison in collectives():
        table = panel.rows(comparison)
        assert fields(panel.spec(*panel.spec_arguments(comparison))) <= set(table.columns) and {*panel.COLUMNS} <= set(
            table.columns
        )
        dots, rings = (table[table.what == what] for what in (panel.PUBLISHED, panel.OUR_CURVE))
        assert dots.amount.tolist() == [point.published for point in comparison.points]
        assert rings.amount.tolist() == [point.simulated_value for point in comparison.points]
        assert (100 * (rings.amount.array / dots.amount.array - 1)).tolist() == dots.miss.tolist()
        assert table[table.what == panel.CURVE].network.unique().tolist() == [*panel.networks()]
        assert dots.label.notna().all() and dots.source.notna().all()


def test_titles_and_sentences_say_how_far_each_point_is_off():
    found = collectives()
    few, many = (point.simulated_value for point in found[-1].points)
    assert [panel.finding(comparison) for comparison in found] == [
        "Emberpool's all-reduce is 13.5 % below the published value on 8 GPUs, 38.4 % below on 16",
        "Emberpool's all-to-all is 14 % below the share that TorchRec needs on 16 GPUs, 98.1 % above on 80",
        f"DCNv2's throughput from 64 to 128 GPUs: +1.32 % published, {100 * (many / few - 1):+.3g} % in Emberpool",
    ]
    told = panel.miss_sentences(found)
    assert len(told) == 6 and all(source in " ".join(told) for source in ("issue 527", "issue 356", "pytorch/torchrec", "MLPerf"))
    assert "57 GB/s published, 35.1 GB/s in Emberpool (-38.4 %; -2.03 % with InfiniBand; -32.4 % with RoCE)" in told[1]
    assert "65 % of a card needed, 55.9 % of a card in Emberpool (-14.0 %)" in told[2]
    assert [", fitted" in sentence for sentence in told] == [False] * 4 + [True] * 2


def test_the_panel_draws_its_charts_and_gives_them_as_csv():
    app = AppTest.from_string("from pages.evidence_page import collectives_panel\ncollectives_panel.draw()", default_timeout=90)
    app.run()
    assert not app.exception and len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart")) == 3
    assert "csv emberpool-collectives" in apps.download_keys(app)
    assert "issue 527" in text(app.caption)
