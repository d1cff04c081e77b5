from __future__ import annotations

from kernel_pytorch.models.clock.in_turns import Comparison


def test_faster_is_faster_by_rounds_and_by_means() -> None:
    assert Comparison(8.0, 4.0, 0.5, 0.49, 0.51, "faster", 10).is_faster
    noisy = Comparison(19.35, 23.21, 0.849, 0.80, 0.90, "faster", 10)
    assert not noisy.is_faster
    assert noisy.why_not_faster() == (
        "too noisy to tell: most rounds are faster and the means are not: 19.35 -> 23.21 ms, x0.849 [0.800, 0.900]"
    )


def test_what_is_not_faster_says_so_with_its_figures() -> None:
    assert Comparison(4.0, 8.0, 2.0, None, None, "slower", 10).why_not_faster() == "slower: 4 -> 8 ms, x2.000"
    assert (
        Comparison(4.0, 3.9, 0.97, None, None, "undecided", 10)
        .why_not_faster()
        .startswith("not faster by more than the noise")
    )
