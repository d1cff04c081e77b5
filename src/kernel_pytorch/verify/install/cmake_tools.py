"""What CMake finds of a stood-in CUDA or ROCm: its packages, its libraries, and compilers that need no test.

CMake's own modules do the rest: CMakeDetermineHIPCompiler, FindCUDAToolkit and FindCUDA run as they are. A toolchain
file answers what they would ask a compiler, because a stood-in one compiles nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.port.build_files.nvcc_flags import libraries
from kernel_pytorch.toolchain.rocm_folder import HIP_VERSION
from kernel_pytorch.verify.install.cuda_folder import CUDA_VERSION

BUILD_LOG = "KPT_CMAKE_LOG"
# ROCm's packages that no CUDA library of the table stands for, and the targets they bring.
_PACKAGES = {
    "hip": ("hip::host", "hip::device", "hip::amdhip64"),
    "hip-lang": ("hip-lang::device", "hip-lang::amdhip64"),
    "hiprtc": ("hiprtc::hiprtc",),
    "hipcub": ("hip::hipcub",),
    "rocthrust": ("roc::rocthrust",),
    "rocprim": ("roc::rocprim", "roc::rocprim_hip"),
    "rocrand": ("roc::rocrand",),
    "amd_comgr": ("amd_comgr",),
    "hsa-runtime64": ("hsa-runtime64::hsa-runtime64",),
}
_CUDA_LIBRARIES = (
    "cudart", "cudart_static", "cudadevrt", "cublas", "cublasLt", "cufft", "cufftw", "curand", "cusolver", "cusparse",
    "nvrtc", "nvToolsExt", "nppc", "nppi", "npps", "nppial", "nppicc", "nppidei", "nppif", "nppig", "nppim", "nppist",
    "nppitc", "nvjpeg", "culibos", "cupti", "nvidia-ml", "cudnn", "nccl", "cuda",
)  # fmt: skip
# Configures with CMake's own program, and leaves a line for each folder that was configured. Builds nothing.
_CMAKE = """for word in "$@"; do
  case "$word" in
    --build|--install) echo "build" >> "${log}"; exit 0;;
    -E|-P|--version|--help*) exec "{cmake}" "$@";;
  esac
done
build=.
last=
for word in "$@"; do
  case "$last" in -B) build="$word";; esac
  case "$word" in -B?*) build="${{word#-B}}";; esac
  last="$word"
done
mkdir -p "$build/.cmake/api/v1/query/client-kpt" && touch "$build/.cmake/api/v1/query/client-kpt/codemodel-v2"
echo "configure $(cd "$build" && pwd)" >> "${log}"
"{cmake}" "$@" --trace-format=json-v1 --trace-redirect="$build/kpt-trace.json" 2> "$build/kpt-stderr.txt"
status=$?
cat "$build/kpt-stderr.txt" >&2
exit $status
"""

# A package of neither vendor that is not installed here is taken for found, with the targets that the project names:
# what is judged is whether CUDA and ROCm build the same, not what is installed on this machine.
_MISSING_PACKAGES = """
get_property(_kpt_is_defined GLOBAL PROPERTY KPT_FIND_PACKAGE)
if(NOT _kpt_is_defined)
  set_property(GLOBAL PROPERTY KPT_FIND_PACKAGE TRUE)
  macro(find_package _kpt_name)
    set(_kpt_arguments "${ARGN}")
    if("${_kpt_name}" MATCHES "^(CUDA|CUDAToolkit|cudnn|CUDNN|NCCL|hip|HIP|roc|ROC|miopen|Torch|hip-lang)" OR
       NOT "${_kpt_arguments}" MATCHES "REQUIRED" OR CMAKE_PROJECT_NAME STREQUAL "CMAKE_TRY_COMPILE")
      _find_package(${_kpt_name} ${ARGN})
      if("${_kpt_name}" STREQUAL "Torch")
        # The installed torch may be built for the CPU only; one for GPUs has these as well.
        foreach(_kpt_target torch_@PLATFORM@ c10_@PLATFORM@)
          if(NOT TARGET ${_kpt_target})
            add_library(${_kpt_target} INTERFACE IMPORTED)
          endif()
        endforeach()
      endif()
    else()
      list(REMOVE_ITEM _kpt_arguments REQUIRED)
      _find_package(${_kpt_name} ${_kpt_arguments})
      if(NOT ${_kpt_name}_FOUND)
        file(APPEND "$ENV{KPT_CMAKE_LOG}" "missing ${_kpt_name}\n")
        set(${_kpt_name}_FOUND TRUE)
        if("${_kpt_name}" STREQUAL "pybind11")
          macro(pybind11_add_module _kpt_module)
            set(_kpt_sources ${ARGN})
            list(REMOVE_ITEM _kpt_sources MODULE SHARED EXCLUDE_FROM_ALL NO_EXTRAS SYSTEM THIN_LTO OPT_SIZE)
            add_library(${_kpt_module} MODULE ${_kpt_sources})
          endmacro()
        endif()
        foreach(_kpt_target @TARGETS@)
          if(_kpt_target MATCHES "^${_kpt_name}(::|$)" AND NOT TARGET ${_kpt_target})
            add_library(${_kpt_target} INTERFACE IMPORTED)
          endif()
        endforeach()
        foreach(_kpt_variable INCLUDE_DIR INCLUDE_DIRS LIBRARY LIBRARIES)
          if("${${_kpt_name}_${_kpt_variable}}" MATCHES "NOTFOUND$")
            unset(${_kpt_name}_${_kpt_variable} CACHE)
            set(${_kpt_name}_${_kpt_variable} "")
          endif()
        endforeach()
      endif()
    endif()
  endmacro()
endif()
"""
_CUDA_PLACES = """if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90)
endif()
set(CUDA_TOOLKIT_ROOT_DIR "@FOLDER@")
set(CUDAToolkit_ROOT "@FOLDER@")
list(PREPEND CMAKE_MODULE_PATH "@FOLDER@/modules")
"""
# CMake's own asks nvcc how it links, which only a real one can tell.
_DETERMINE_CUDA = """set(CMAKE_CUDA_COMPILER_ENV_VAR "CUDACXX")
configure_file("${CMAKE_ROOT}/Modules/CMakeCUDACompiler.cmake.in"
  "${CMAKE_PLATFORM_INFO_DIR}/CMakeCUDACompiler.cmake" @ONLY)
"""


def real_cmake() -> str | None:
    """CMake's own program, where there is one."""
    return shutil.which("cmake")


def add_cmake(folder: Path, platform: str, gpu: GPU, imported: Iterable[str]) -> None:
    """Complete a stood-in CUDA or ROCm folder with what CMake looks for.

    `imported` are the targets of other packages that the project names, such as Boost::system.
    """
    cmake = real_cmake()
    if cmake is not None:
        script = folder / "bin/cmake"
        script.write_text("#!/bin/sh\n" + _CMAKE.format(cmake=cmake, log=f"{{{BUILD_LOG}}}"))
        script.chmod(0o755)
    text = _rocm(folder, gpu) if platform == "rocm" else _cuda(folder)
    targets, torch = ";".join(sorted(imported)), "hip" if platform == "rocm" else "cuda"
    # CMake also looks where PATH does not lead: /usr/local/bin.
    ignored = ";".join(folders_with_compilers())
    homes = ";".join(str(one) for one in _own_folders())
    text += f'list(APPEND CMAKE_IGNORE_PATH "{ignored}")\n' if ignored else ""
    text += f'list(APPEND CMAKE_IGNORE_PREFIX_PATH "{homes}")\n' if homes else ""
    (folder / "toolchain.cmake").write_text(
        text + _MISSING_PACKAGES.replace("@TARGETS@", targets).replace("@PLATFORM@", torch)
    )


def folders_with_compilers() -> list[str]:
    """Where a compiler of either vendor is installed on this machine: not to be found in a trial."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    folders += ["/usr/local/bin", "/usr/bin"]
    folders += [str(path / "bin") for path in _own_folders()]
    with_one = [one for one in folders if any((Path(one) / name).exists() for name in ("nvcc", "hipcc"))]
    return list(dict.fromkeys(with_one))


def _own_folders() -> list[Path]:
    """Where either vendor installs all it has."""
    tops = [path for top in (Path("/usr/local"), Path("/opt")) for path in (*top.glob("cuda*"), *top.glob("rocm*"))]
    return sorted(path for path in tops if path.is_dir())


def toolchain_file(folder: Path) -> Path:
    """The file that CMAKE_TOOLCHAIN_FILE names, also in the environment."""
    return folder / "toolchain.cmake"


def _rocm(folder: Path, gpu: GPU) -> str:
    packages = {name: list(targets) for name, targets in _PACKAGES.items()}
    for row in libraries().values():
        if row.cmake_package:
            packages.setdefault(row.cmake_package, []).append(row.cmake_target)
    for name, targets in packages.items():
        home = folder / "lib/cmake" / name
        home.mkdir(parents=True)
        (home / f"{name}-config.cmake").write_text(_config(folder, name, dict.fromkeys(targets)))
        (home / f"{name}-config-version.cmake").write_text(
            f'set(PACKAGE_VERSION "{HIP_VERSION}")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n'
        )
    return (
        _preset(
            "HIP",
            COMPILER=f"{folder}/bin/amdclang++",
            COMPILER_ID="Clang",
            COMPILER_VERSION="20.0.0",
            COMPILER_ROCM_ROOT=str(folder),
            COMPILER_ROCM_LIB=f"{folder}/lib",
            PLATFORM="amd",
            STANDARD_COMPUTED_DEFAULT="17",
            EXTENSIONS_COMPUTED_DEFAULT="ON",
        )
        + f'if(NOT DEFINED CMAKE_HIP_ARCHITECTURES)\n  set(CMAKE_HIP_ARCHITECTURES "{gpu.target.name}")\nendif()\n'
    )


def _cuda(folder: Path) -> str:
    for name in _CUDA_LIBRARIES:
        (folder / "lib" / f"lib{name}.so").touch()
        if name.endswith(("static", "devrt", "culibos")):
            (folder / "lib" / f"lib{name}.a").touch()
    (folder / "modules").mkdir()
    (folder / "modules/CMakeDetermineCUDACompiler.cmake").write_text(_DETERMINE_CUDA)
    (folder / "lib/stubs").mkdir()
    (folder / "lib/stubs/libcuda.so").touch()
    major, minor = CUDA_VERSION.split(".")
    for name in ("cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h", "cudnn.h", "nccl.h"):
        (folder / "include" / name).write_text(f"#define CUDA_VERSION {int(major) * 1000 + int(minor) * 10}\n")
    return _preset(
        "CUDA",
        COMPILER=f"{folder}/bin/nvcc",
        COMPILER_ID="NVIDIA",
        COMPILER_VERSION=f"{CUDA_VERSION}.61",
        COMPILER_TOOLKIT_ROOT=str(folder),
        COMPILER_TOOLKIT_LIBRARY_ROOT=str(folder),
        COMPILER_LIBRARY_ROOT=str(folder),
        COMPILER_TOOLKIT_VERSION=f"{CUDA_VERSION}.61",
        TOOLKIT_INCLUDE_DIRECTORIES=f"{folder}/include",
        HOST_COMPILER_ID="GNU",
        STANDARD_COMPUTED_DEFAULT="17",
        EXTENSIONS_COMPUTED_DEFAULT="ON",
        ARCHITECTURES_ALL="80;90",
        ARCHITECTURES_ALL_MAJOR="80;90",
        ARCHITECTURES_NATIVE="90",
    ) + _CUDA_PLACES.replace("@FOLDER@", str(folder))


def _preset(language: str, **values: str) -> str:
    lines = [f'set(CMAKE_{language}_{name} "{value}")' for name, value in values.items()]
    # Its test would compile a program, and so would the question what it is.
    lines += [f"set(CMAKE_{language}_COMPILER_{name} TRUE)" for name in ("FORCED", "WORKS", "ID_RUN")]
    features = [f"{language.lower()}_std_{year}" for year in ("03", "11", "14", "17", "20", "23")]
    lines.append(f'set(CMAKE_{language}_COMPILE_FEATURES "{";".join(features)}")')
    lines += [f'set(CMAKE_{language}{one[-2:]}_COMPILE_FEATURES "{one}")' for one in features]
    return "\n".join(lines) + "\n"


def _config(folder: Path, name: str, targets: dict[str, None]) -> str:
    lines = [f"set({name}_FOUND TRUE)", f'set({name}_VERSION "{HIP_VERSION}")']
    for target in targets:
        lines += [f"if(NOT TARGET {target})", f"  add_library({target} INTERFACE IMPORTED)", "endif()"]
    if name == "hip-lang":
        lines.append("set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)")
    if name == "hip":
        lines += [
            "set(HIP_FOUND TRUE)",
            f'set(HIP_VERSION "{HIP_VERSION}")',
            f'set(HIP_INCLUDE_DIRS "{folder}/include")',
            "set(HIP_PLATFORM amd)",
            "set(HIP_COMPILER clang)",
        ]
    return "\n".join(lines) + "\n"
