#include <hip/hip_runtime.h>
#ifndef KPT_SHIM_KPT_COMPILE_PROGRAM
#define KPT_SHIM_KPT_COMPILE_PROGRAM
#include <hip/hiprtc.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>
// NVRTC looks for headers in the folder of the source, which is the name that the program was made with; hipRTC does not.
inline std::string kpt_folder_of(hiprtcProgram program, const std::string& made_in = "") {
  static std::mutex one_at_a_time;
  static std::map<hiprtcProgram, std::string> folders;
  std::lock_guard<std::mutex> held(one_at_a_time);
  std::string& folder = folders[program];
  if (!made_in.empty()) folder = made_in;
  return folder.empty() ? "." : folder;
}
static inline hiprtcResult kpt_create_program(hiprtcProgram* program, const char* source, const char* name, int count,
                                              const char* const* headers, const char* const* names) {
  const hiprtcResult made = hiprtcCreateProgram(program, source, name, count, const_cast<const char**>(headers),
                                                const_cast<const char**>(names));
  const std::string path = name ? name : "";
  const size_t slash = path.rfind('/');
  if (made == HIPRTC_SUCCESS) kpt_folder_of(*program, slash == std::string::npos ? "." : path.substr(0, slash + 1));
  return made;
}
// NVRTC's options as hipRTC takes them. The architecture is left out: hipRTC compiles for the current device. So is what only
// NVIDIA's compiler has: limits on registers, passes, debug information.
static inline hiprtcResult kpt_compile_program(hiprtcProgram program, int count, const char* const* options) {
  static const char* const others[][2] = {{"-use_fast_math", "-ffast-math"}, {"-fmad=false", "-ffp-contract=off"},
      {"-fmad=true", "-ffp-contract=fast"}, {"-include-path", "-I"}, {"-define-macro", "-D"}, {"-undefine-macro", "-U"},
      {"-pre-include", "-include"}, {"-disable-warnings", "-w"}, {"-relocatable-device-code=true", "-fgpu-rdc"},
      {"-rdc=true", "-fgpu-rdc"}, {"-device-c", "-fgpu-rdc"}, {"-dc", "-fgpu-rdc"}};
  static const char* const left_out[] = {"-gpu-architecture", "-arch", "-maxrregcount", "-Xptxas", "-ptxas-options"};
  static const char* const dropped[] = {"-extra-device-vectorization", "-modify-stack-limit", "-dlink-time-opt", "-dlto",
      "-device-debug", "-G", "-generate-line-info", "-lineinfo", "-restrict", "-ftz", "-prec-div", "-prec-sqrt", "-rdc",
      "-relocatable-device-code", "-device-w", "-dw", "-gen-opt-lto", "-opt-info", "-minimal", "-split-compile", "-fdevice-time-trace",
      "-jump-table-density", "-device-stack-protector", "-builtin-move-forward", "-builtin-initializer-list", "-fmad"};
  std::vector<std::string> kept;
  bool looks_beside = true;
  for (int at = 0; at < count; ++at) {
    std::string one = options[at];
    if (one.compare(0, 2, "--") == 0) one.erase(0, 1);
    const std::string name = one.substr(0, one.find('='));
    bool is_done = false;
    for (const char* other : left_out) {
      if (name != other) continue;
      is_done = true;
      if (name == one) ++at;  // its value is the next one
    }
    for (const char* other : dropped) is_done = is_done || name == other;
    for (auto& pair : others) {
      if (one == pair[0]) kept.push_back(pair[1]);
      else if (name == pair[0] && pair[1] == std::string("-include")) kept.insert(kept.end(), {pair[1], one.substr(name.size() + 1)});
      else if (name == pair[0]) kept.push_back(pair[1] + one.substr(name.size() + 1));
      else continue;
      is_done = true;
      break;
    }
    if (one == "-no-source-include") looks_beside = false;
    else if (!is_done) kept.push_back(one);
  }
  if (looks_beside) kept.push_back("-I" + kpt_folder_of(program));
  kept.push_back("-DKPT_AT_RUN_TIME=1");  // static variables that the program asks for by name are not static then
  std::vector<const char*> given;
  for (const std::string& one : kept) given.push_back(one.c_str());
  return hiprtcCompileProgram(program, (int)given.size(), given.data());
}
#endif
#include "hip/hiprtc.h"

const char *find_folder_of(const char *header, const char *where);
void compile(hiprtcProgram program, const char *where) {
  const char *options[] = {"--gpu-architecture=compute_80", "-std=c++17", "-default-device"};
  kpt_create_program(&program, "extern \"C\" __global__ void k() {}", "kernels/k.cu", 0, nullptr, nullptr);
  kpt_compile_program(program, 3, options);
  find_folder_of("cooperative_groups.h", where);
}
