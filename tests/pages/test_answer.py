"""Does the answer's copy hold all that the page says of it?"""

from pages.ui import answer


def test_what_stands_below_the_box_is_copied_with_it(monkeypatch):
    copied = []
    monkeypatch.setattr(answer, "_draw_copy", copied.extend)
    answer.show("Keep the tables in HBM", ["On one GPU."], below=["Best in 97 % of draws.", ""])
    assert [sentence for sentence in copied if sentence] == ["Keep the tables in HBM", "On one GPU.", "Best in 97 % of draws."]
