# Made by `kpt port`: on ROCm, torch's hipify renames the sources of a target, as it does for setup.py.
# It is taken from the torch that CMake has found, else from the Python: -DPython3_EXECUTABLE=... names another.
foreach(name Python_EXECUTABLE PYTHON_EXECUTABLE)
  if(NOT Python3_EXECUTABLE AND ${name})
    set(Python3_EXECUTABLE "${${name}}")
  endif()
endforeach()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(_kpt_hipify [==[
import contextlib, importlib.util, json, os, sys

place = os.path.join(sys.argv[5], "utils", "hipify")
if sys.argv[5] and os.path.isdir(place):  # this Python may have no torch, or another
    spec = importlib.util.spec_from_file_location(
        "hipify", os.path.join(place, "__init__.py"), submodule_search_locations=[place]
    )
    sys.modules["hipify"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["hipify"])
    from hipify import hipify_python
else:
    from torch.utils.hipify import hipify_python

top, record, folders, sources = sys.argv[1], sys.argv[2], sys.argv[3].split(";"), sys.argv[4].split(";")
wanted = [os.path.abspath(os.path.join(top, one)) for one in sources]
with contextlib.redirect_stdout(sys.stderr):
    done = hipify_python.hipify(
        project_directory=top,
        output_directory=top,
        header_include_dirs=[one for one in folders if os.path.isdir(one)],
        includes=[os.path.join(top, "*")],
        extra_files=wanted,
        is_pytorch_extension=True,
        hipify_extra_files_only=True,
    )
renamed = {one: result.hipified_path for one, result in done.items() if result.hipified_path}
with open(record, "w") as stream:
    json.dump(renamed, stream)
# A glob also finds what hipify wrote when this folder was configured before: each file once.
print(";".join(dict.fromkeys(renamed.get(one, one) for one in wanted)), end="")
]==])

function(kpt_hipify_target target)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  if(NOT sources OR NOT type MATCHES "^(EXECUTABLE|(STATIC|SHARED|MODULE|OBJECT)_LIBRARY)$")
    return()
  endif()
  if(sources MATCHES "\\$<")
    message(WARNING "${target}: a source is known only when the build starts, so torch's hipify renames none of them")
    return()
  endif()
  get_target_property(folders ${target} INCLUDE_DIRECTORIES)
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c "${_kpt_hipify}" "${CMAKE_CURRENT_SOURCE_DIR}"
            "${CMAKE_CURRENT_BINARY_DIR}/kpt_hipified_${target}.json" "${folders}" "${sources}"
            "${TORCH_INSTALL_PREFIX}"
    RESULT_VARIABLE failed OUTPUT_VARIABLE renamed ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "torch's hipify failed for ${target}, with ${Python3_EXECUTABLE}: ${said}")
  endif()
  set_property(TARGET ${target} PROPERTY SOURCES ${renamed})
  # hipify leaves a source alone that names nothing of CUDA's. CMake knows .hip files by themselves, and no .cu file.
  list(FILTER renamed INCLUDE REGEX "\\.cu$")
  if(renamed)
    set_source_files_properties(${renamed} PROPERTIES LANGUAGE HIP)
  endif()
  target_compile_definitions(${target} PRIVATE USE_ROCM=1)
endfunction()
