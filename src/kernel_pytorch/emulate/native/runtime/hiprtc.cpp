/* hiprtc: compiles HIP source while the program runs, with the command in KPT_EMULATE_COMPILE. Part of libamdhip64
 * (where old programs look for it) and, alone, libhiprtc: beside child.cpp it uses nothing of the runtime. */
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "child.h"

#define KPT_RTC_API extern "C" __attribute__((visibility("default")))

enum hiprtcResult : int {
    HIPRTC_SUCCESS = 0,
    HIPRTC_ERROR_OUT_OF_MEMORY = 1,
    HIPRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
    HIPRTC_ERROR_INVALID_INPUT = 3,
    HIPRTC_ERROR_INVALID_PROGRAM = 4,
    HIPRTC_ERROR_INVALID_OPTION = 5,
    HIPRTC_ERROR_COMPILATION = 6,
    HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
    HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION = 8,
    HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION = 9,
    HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
    HIPRTC_ERROR_INTERNAL_ERROR = 11,
    HIPRTC_ERROR_LINKING = 100,
};

struct _hiprtcProgram {
    std::string source, name, log;
    std::vector<std::pair<std::string, std::string>> headers; /* file name, text */
    std::vector<std::string> expressions;
    std::map<std::string, std::string> lowered;
    std::vector<char> code;
    bool compiled = false;
};
typedef _hiprtcProgram *hiprtcProgram;

namespace {

std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

/* A name may lie in folders ("detail/a.h"); one that leads out of the directory is refused. */
bool write_file(const std::string &directory, const std::string &name, const std::string &text) {
    if (name.empty() || name[0] == '/' || name.find("..") != std::string::npos) return false;
    for (size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1))
        mkdir((directory + "/" + name.substr(0, at)).c_str(), 0700);
    std::ofstream file(directory + "/" + name, std::ios::binary);
    file << text;
    return bool(file);
}

/* Device variables that hold what each expression names: the compiler writes the names beside the code object. */
std::string with_expressions(const _hiprtcProgram &program) {
    std::string text = program.source + "\n";
    for (size_t i = 0; i < program.expressions.size(); i++)
        text += "extern \"C\" __device__ __attribute__((used)) const void *__kpt_name_" + std::to_string(i) +
                " = (const void *)(" + program.expressions[i] + ");\n";
    return text;
}

void read_names(_hiprtcProgram &program, const std::string &text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        size_t blank = line.find(' ');
        if (blank == std::string::npos) continue;
        size_t index = strtoul(line.c_str(), nullptr, 10);
        if (index < program.expressions.size()) program.lowered[program.expressions[index]] = line.substr(blank + 1);
    }
}

} // namespace

KPT_RTC_API hiprtcResult hiprtcCreateProgram(hiprtcProgram *out, const char *source, const char *name, int headers,
                                             const char *const *texts, const char *const *names) {
    if (!out || !source || headers < 0 || (headers && (!texts || !names))) return HIPRTC_ERROR_INVALID_INPUT;
    auto *program = new _hiprtcProgram;
    program->source = source;
    program->name = name && *name ? name : "program.hip";
    for (int i = 0; i < headers; i++) program->headers.emplace_back(names[i], texts[i]);
    *out = program;
    return HIPRTC_SUCCESS;
}

KPT_RTC_API hiprtcResult hiprtcDestroyProgram(hiprtcProgram *program) {
    if (!program || !*program) return HIPRTC_ERROR_INVALID_INPUT;
    delete *program;
    *program = nullptr;
    return HIPRTC_SUCCESS;
}

KPT_RTC_API hiprtcResult hiprtcAddNameExpression(hiprtcProgram program, const char *expression) {
    if (!program || !expression) return HIPRTC_ERROR_INVALID_INPUT;
    if (program->compiled) return HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program->expressions.emplace_back(expression);
    return HIPRTC_SUCCESS;
}

KPT_RTC_API hiprtcResult hiprtcCompileProgram(hiprtcProgram program, int count, const char *const *options) {
    if (!program || count < 0 || (count && !options)) return HIPRTC_ERROR_INVALID_INPUT;
    const char *command = getenv("KPT_EMULATE_COMPILE"), *gpu = getenv("KPT_EMULATE_GPU");
    if (!command || !gpu) {
        program->log = "KPT_EMULATE_COMPILE and KPT_EMULATE_GPU are not set: start the program with `kpt emulate`";
        return HIPRTC_ERROR_COMPILATION;
    }
    char directory[] = "/tmp/kpt-hiprtc-XXXXXX";
    if (!mkdtemp(directory)) return HIPRTC_ERROR_INTERNAL_ERROR;
    std::string base = directory, source = base + "/source.hip", code = base + "/code", log = base + "/log";
    bool written = write_file(base, "source.hip", with_expressions(*program));
    for (auto &header : program->headers) written = write_file(base, header.first, header.second) && written;
    std::vector<std::string> words = kpt::words_of(command);
    words.insert(words.end(), {source, code, gpu, program->name});
    for (int i = 0; i < count; i++) words.emplace_back(options[i]);
    std::string problem;
    bool good = written && kpt::run_child(words, "the compiler", log, problem);
    program->log = read_file(log);
    if (program->log.empty()) program->log = problem;
    std::string made = read_file(code);
    program->code.assign(made.begin(), made.end());
    read_names(*program, read_file(code + ".names"));
    program->compiled = good && !program->code.empty();
    kpt::run_child({"rm", "-rf", base}, "rm", "/dev/null", problem);
    return program->compiled ? HIPRTC_SUCCESS : HIPRTC_ERROR_COMPILATION;
}

KPT_RTC_API hiprtcResult hiprtcGetLoweredName(hiprtcProgram program, const char *expression, const char **lowered) {
    if (!program || !expression || !lowered) return HIPRTC_ERROR_INVALID_INPUT;
    if (!program->compiled) return HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    auto found = program->lowered.find(expression);
    if (found == program->lowered.end()) return HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *lowered = found->second.c_str();
    return HIPRTC_SUCCESS;
}

KPT_RTC_API hiprtcResult hiprtcGetProgramLogSize(hiprtcProgram program, size_t *bytes) {
    if (!program || !bytes) return HIPRTC_ERROR_INVALID_INPUT;
    *bytes = program->log.empty() ? 0 : program->log.size() + 1;
    return HIPRTC_SUCCESS;
}
KPT_RTC_API hiprtcResult hiprtcGetProgramLog(hiprtcProgram program, char *log) {
    if (!program || !log) return HIPRTC_ERROR_INVALID_INPUT;
    memcpy(log, program->log.c_str(), program->log.size() + 1);
    return HIPRTC_SUCCESS;
}
KPT_RTC_API hiprtcResult hiprtcGetCodeSize(hiprtcProgram program, size_t *bytes) {
    if (!program || !bytes) return HIPRTC_ERROR_INVALID_INPUT;
    *bytes = program->code.size();
    return HIPRTC_SUCCESS;
}
KPT_RTC_API hiprtcResult hiprtcGetCode(hiprtcProgram program, char *code) {
    if (!program || !code) return HIPRTC_ERROR_INVALID_INPUT;
    memcpy(code, program->code.data(), program->code.size());
    return HIPRTC_SUCCESS;
}
KPT_RTC_API hiprtcResult hiprtcVersion(int *major, int *minor) {
    if (!major || !minor) return HIPRTC_ERROR_INVALID_INPUT;
    *major = 9;
    *minor = 0;
    return HIPRTC_SUCCESS;
}

KPT_RTC_API const char *hiprtcGetErrorString(hiprtcResult result) {
    switch (result) {
    case HIPRTC_SUCCESS: return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_OUT_OF_MEMORY: return "HIPRTC_ERROR_OUT_OF_MEMORY";
    case HIPRTC_ERROR_PROGRAM_CREATION_FAILURE: return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case HIPRTC_ERROR_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_INVALID_PROGRAM: return "HIPRTC_ERROR_INVALID_PROGRAM";
    case HIPRTC_ERROR_INVALID_OPTION: return "HIPRTC_ERROR_INVALID_OPTION";
    case HIPRTC_ERROR_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
    case HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE: return "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION:
        return "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
    case HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION: return "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
    case HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID: return "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
    case HIPRTC_ERROR_INTERNAL_ERROR: return "HIPRTC_ERROR_INTERNAL_ERROR";
    case HIPRTC_ERROR_LINKING: return "HIPRTC_ERROR_LINKING";
    }
    return "invalid HIPRTC error code";
}

#define KPT_RTC_MISSING(name)                                                                                          \
    KPT_RTC_API hiprtcResult name(...) {                                                                               \
        fprintf(stderr, "kpt emulate: %s is not emulated\n", #name);                                                   \
        return HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE;                                                                 \
    }
KPT_RTC_MISSING(hiprtcGetBitcode)
KPT_RTC_MISSING(hiprtcGetBitcodeSize)
KPT_RTC_MISSING(hiprtcLinkCreate)
KPT_RTC_MISSING(hiprtcLinkAddFile)
KPT_RTC_MISSING(hiprtcLinkAddData)
KPT_RTC_MISSING(hiprtcLinkComplete)
KPT_RTC_MISSING(hiprtcLinkDestroy)
