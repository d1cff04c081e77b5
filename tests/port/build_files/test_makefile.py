"""Makefile.hip: flags by table, what stops a derivation, and `make -n` of the result."""

from __future__ import annotations

import csv
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from kernel_pytorch.port.build_files.makefile import derive_makefile, uses_nvcc
from kernel_pytorch.port.build_files.nvcc_flags import flag_table, libraries, map_flags
from kernel_pytorch.port.source import language_of

MAKEFILE = """\
# nvcc build
NVCC = /usr/local/cuda/bin/nvcc
ARCH = sm_70
SMS ?= 70 80
$(foreach sm,$(SMS),$(eval GENCODE += -gencode arch=compute_$(sm),code=sm_$(sm)))
CFLAGS = -O3 -std=c++17 -Xcompiler "-Wall -fopenmp" $(GENCODE) -L/usr/local/cuda/lib64
LDFLAGS = -lcublas -lcurand -lm # libraries
source = main.cu
obj = $(source:.cu=.o)

main: $(obj) Makefile
\t$(NVCC) $(CFLAGS) $(obj) -o $@ $(LDFLAGS)

%.o: %.cu
\t$(NVCC) $(CFLAGS) -c $< -o $@

run: main
\t./main -arch 3 -t 9
"""


@pytest.mark.parametrize(
    ("nvcc", "hip"),
    [
        ("-O3 -g -DX=1 -Iinclude", "-O3 -g -DX=1 -Iinclude"),
        ("-arch=sm_80", "--offload-arch=$(HIP_ARCH)"),
        ("-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90", "--offload-arch=$(HIP_ARCH)"),
        ("-arch sm_80 -code sm_80", "--offload-arch=$(HIP_ARCH)"),
        ("-Xcompiler -Wall,-fPIC -Xcompiler=-fopenmp", "-Wall -fPIC -fopenmp"),
        ("--use_fast_math", "-ffp-contract=fast -fno-math-errno"),
        ("-Xptxas -v --ptxas-options=-O3", ""),
        ("-rdc=true", "-fgpu-rdc"),
        ("--fmad false -O2 -fmad=false -fmad true", "-ffp-contract=off -O2 -ffp-contract=off"),
        ("-rdc=false", ""),
        ("-lineinfo -G", "-gline-tables-only -g"),
        ("--expt-relaxed-constexpr --extended-lambda", ""),
        ("--default-stream per-thread", "-fgpu-default-stream=per-thread"),
        ("-lcublas -lcusparse -lcudart -lnccl -lpthread", "-lhipblas -lhipsparse -lrccl -lpthread"),
        ("-I$(CUDA_HOME)/include -I /usr/local/cuda-12.4/include -Icuda/include_dir", "-Icuda/include_dir"),
        ("-x cu", "-x hip"),
        ("-arch=sm_80 -ptx -O3 -o k.ptx", "--offload-arch=$(HIP_ARCH) --genco -O3 -o k.ptx"),
        ("--fatbin -ok.fatbin", "--genco -ok.fatbin"),
        ("-Werror all-warnings -Werror", "-Werror -Werror"),
    ],
)
def test_flags(nvcc: str, hip: str) -> None:
    mapped = map_flags(nvcc.split())
    assert " ".join(mapped.words) == hip
    assert not mapped.obstacles


@pytest.mark.parametrize("flag", ["-ptx", "-dlink", "-lcudnn", "-lnvidia-ml"])
def test_flags_for_a_person(flag: str) -> None:
    assert map_flags([flag]).obstacles


@pytest.mark.parametrize("name", ["nvcc_flags.csv", "libraries.csv"])
def test_tables_have_a_reason_in_every_row(name: str) -> None:
    text = files("kernel_pytorch.port.tables").joinpath(name).read_text()
    rows = list(csv.DictReader(text.splitlines()))
    key = next(iter(rows[0]))
    assert len({row[key] for row in rows}) == len(rows)
    assert all(None not in row.values() and None not in row for row in rows)
    if name == "nvcc_flags.csv":
        assert all(row["reason"] for row in rows)
        assert {row["action"] for row in rows} <= {
            "replace", "drop", "unwrap", "keep", "relocatable", "respell", "language", "host-compiler", "person",
                "code-object",
        }  # fmt: skip
    else:
        assert all(row["hip"] or row["note"] for row in rows)
    assert flag_table() and libraries()


def test_twin() -> None:
    derived = derive_makefile(MAKEFILE)
    assert derived.obstacles == ()
    text = derived.text or ""
    assert "NVCC = hipcc\n" in text
    assert "-gencode" not in text and "-Xcompiler" not in text
    assert "source = main.hip\nobj = $(source:.hip=.o)\n" in text
    assert "main: $(obj) Makefile.hip\n" in text
    assert "%.o: %.hip\n" in text
    assert "LDFLAGS = -lhipblas -lhiprand -lm # libraries\n" in text
    assert "\t./main -arch 3 -t 9\n" in text  # another program's words
    assert text.startswith("# Derived from Makefile by kpt")


def test_twin_of_sources_that_keep_their_names() -> None:
    text = derive_makefile(MAKEFILE, in_place=True).text or ""
    assert "NVCC = hipcc -DUSE_ROCM\n" in text  # which opens the gates
    assert "source = main.cu\nobj = $(source:.cu=.o)\n" in text and "%.o: %.cu\n" in text
    assert "main: $(obj) Makefile.hip\n" in text and "-gencode" not in text
    text = derive_makefile("main: a.cu\n\tnvcc -arch=sm_80 a.cu -o main\n", in_place=True).text or ""
    assert "\thipcc -DUSE_ROCM --offload-arch=$(HIP_ARCH) a.cu -o main\n" in text


def test_a_compiler_that_is_looked_for() -> None:
    makefile = (
        "NVCC := $(shell which nvcc 2>/dev/null)\nifeq ($(NVCC),)\n$(error nvcc not found.)\nendif\n"
        "CFLAGS = -O3 --use_fast_math\nmain: a.cu\n\t$(NVCC) $(CFLAGS) -lcublas a.cu -o main\n"
    )
    text = derive_makefile(makefile, in_place=True).text or ""
    assert "NVCC := $(shell which hipcc 2>/dev/null)\n" in text and "$(error hipcc not found.)" in text
    assert "\nexport HIPCC_COMPILE_FLAGS_APPEND := $(HIPCC_COMPILE_FLAGS_APPEND) -DUSE_ROCM\n" in text
    assert "\t$(NVCC) $(CFLAGS) -lhipblas a.cu -o main\n" in text
    assert "USE_ROCM" not in (derive_makefile(makefile).text or "USE_ROCM")


def test_relocatable_code_is_linked_by_hipcc() -> None:
    text = derive_makefile("main: a.o\n\tnvcc a.o -o main\na.o: a.cu\n\tnvcc -dc a.cu -o a.o\n").text or ""
    assert "\thipcc a.o -fgpu-rdc --hip-link -o main\n" in text
    assert "\thipcc -fgpu-rdc -c a.hip -o a.o\n" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("include common.mk\nall:\n\tnvcc a.cu\n", "include common.mk"),
        ("all:\n\t$(MAKE) -C sub\n\tnvcc a.cu\n", "another makefile"),
        ("all:\n\tnvcc -ptx a.cu\n", "-ptx"),
        ("all:\n\tnvcc a.cu -lcudnn\n", "MIOpen"),
        ("define build\n\tnvcc a.cu\nendef\nall:\n\t$(build)\n", "define"),
        ("CC = nvcc -ccbin mpicxx\nall:\n\t$(CC) a.cu\n", "MPI"),
    ],
)
def test_obstacles(text: str, said: str) -> None:
    derived = derive_makefile(text)
    assert derived.text is None
    assert any(said in obstacle for obstacle in derived.obstacles)


def test_comments_do_not_count() -> None:
    assert not uses_nvcc("# nvcc\nall:\n\tc++ a.cpp # not nvcc\n")
    assert uses_nvcc("CC=nvcc\n")


def test_make_accepts_the_twin(tmp_path: Path) -> None:
    make = shutil.which("make")
    if not make:
        pytest.skip("make is needed")
    (tmp_path / "Makefile.hip").write_text(derive_makefile(MAKEFILE).text or "")
    (tmp_path / "main.hip").write_text("")
    done = subprocess.run(
        [make, "-n", "-f", "Makefile.hip", "HIP_ARCH=gfx942"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "nvcc" not in done.stdout
    compile_line, link_line = [line for line in done.stdout.splitlines() if line.startswith("hipcc")]
    assert "--offload-arch=gfx942" in compile_line and "-c main.hip" in compile_line
    assert link_line.rstrip().endswith("-o main -lhipblas -lhiprand -lm")


HOST = """\
COMMON = -Isrc
ifeq ($(GPU), 1)
COMMON += -DGPU -I/usr/local/cuda/include/
LDFLAGS += -L/usr/local/cuda/lib64 -lcuda -lcudart -lcublas
endif
ifeq ($(CUDNN), 1)
LDFLAGS += -lcudnn
endif
all: a.o b.o
\tg++ a.o b.o -o all $(LDFLAGS)
a.o: a.cu
\tnvcc $(COMMON) -c a.cu
b.o: b.c
\tgcc $(COMMON) -c b.c
"""


def test_other_compilers_are_told_where_rocm_is() -> None:
    text = derive_makefile(HOST, in_place=True).text or ""
    assert "ROCM_PATH ?= /opt/rocm\n" in text
    assert "COMMON += -DGPU -I$(ROCM_PATH)/include -D__HIP_PLATFORM_AMD__=1\n" in text
    assert "LDFLAGS += -L$(ROCM_PATH)/lib -lamdhip64 -lhipblas\n" in text
    only_nvcc = derive_makefile(HOST.replace("g++", "nvcc").replace("gcc", "nvcc"), in_place=True).text or ""
    assert "ROCM_PATH" not in only_nvcc and "LDFLAGS += -lhipblas\n" in only_nvcc


def test_what_has_no_counterpart_ends_make_where_the_condition_holds(tmp_path: Path) -> None:
    derived = derive_makefile(HOST, in_place=True)
    assert any("MIOpen" in one for one in derived.stops) and not derived.obstacles
    make = shutil.which("make")
    if not make:
        pytest.skip("make is needed")
    (tmp_path / "Makefile.hip").write_text(derived.text or "")
    for name in ("a.cu", "b.c"):
        (tmp_path / name).write_text("")
    command = [make, "-n", "-f", "Makefile.hip", "GPU=1", "HIP_ARCH=gfx942"]
    fine = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert fine.returncode == 0 and "gcc -Isrc -DGPU -I/opt/rocm/include" in fine.stdout
    stopped = subprocess.run([*command, "CUDNN=1"], cwd=tmp_path, capture_output=True, text=True)
    assert stopped.returncode == 2 and "Makefile.hip: -lcudnn: cuDNN" in stopped.stderr


@pytest.mark.parametrize(
    ("name", "language"),
    [("Makefile.hip", "make"), ("GNUmakefile", "make"), ("makefile.cuda", "make"), ("makefile_parser.cu", "cuda")],
)
def test_a_makefile_for_hipcc_is_no_hip_source(name: str, language: str) -> None:
    assert language_of(f"sub/{name}") == language


MODULE = """\
ifneq ("$(wildcard /usr/local/cuda/bin/nvcc)", "")
CUDAPATH ?= /usr/local/cuda
endif
NVCC := ${CUDAPATH}/bin/nvcc

program: program.o scale.fatbin
\tg++ -o $@ $< -L${CUDAPATH}/lib64 -lcuda

%.fatbin: %.cu
\tPATH="${PATH}:." ${NVCC} -O3 -arch=compute_75 -fatbin $< -o $@
"""


def test_a_module_is_a_code_object_under_the_same_name() -> None:
    """What the program loads keeps its name; a condition on a CUDA installation stays."""
    derived = derive_makefile(MODULE, in_place=True)
    assert derived.text is not None, derived.obstacles
    assert "${NVCC} -O3 --offload-arch=$(HIP_ARCH) --genco $< -o $@" in derived.text
    assert 'ifneq ("$(wildcard /usr/local/cuda/bin/nvcc)", "")' in derived.text
