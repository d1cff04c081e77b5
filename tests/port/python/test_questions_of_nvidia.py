"""Questions that NVIDIA's tools answer, and names that a program compares: what is told, and what is for review."""

from __future__ import annotations

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.source import SourceFile


def found(text: str, *codes: str) -> list[Finding]:
    return list(port_plain_file(SourceFile("a.py", text.encode(), "python"), PortOptions(select=codes)).findings)


def test_a_program_that_only_asks_for_nvidia_smi_goes_on_without_a_gpu() -> None:
    text = 'import shutil\nhas_gpu = shutil.which("nvidia-smi") is not None\n'
    (one,) = found(text, "KP501")
    assert one.line == 2 and "goes on without a GPU" in one.message
    assert not found('import shutil\nx = shutil.which("ncu")\n', "KP501")
    runs = 'import subprocess\ntry:\n    subprocess.run(["nvidia-smi"])\nexcept OSError:\n    pass\n'
    assert not found(text + runs, "KP501"), "the question guards the call"


def test_a_list_of_arguments_made_elsewhere_runs_the_tool_too() -> None:
    text = 'import shutil\nif shutil.which("nvidia-smi"):\n    run(["nvidia-smi", "-L"])\n'
    assert not found(text, "KP501")


def test_an_implementation_that_the_file_compares_is_data() -> None:
    kept = 'data["attn_implementation"] = "flash_attention_2"\n'
    load = 'm = AutoModel.from_pretrained("x", attn_implementation="flash_attention_2")\n'
    assert [one.safety for one in found(kept + load, "KP522")] == [Safety.SAFE, Safety.SAFE]
    for data in ('assert data["a"] == "flash_attention_2"\n', 'KNOWN = ["sdpa", "flash_attention_2"]\n'):
        assert [one.safety for one in found(kept + load + data, "KP522")] == [Safety.REVIEW, Safety.SAFE]
