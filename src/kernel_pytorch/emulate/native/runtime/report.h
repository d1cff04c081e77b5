/* JSON lines to the file in KPT_EMULATE_REPORT: launches, faults, digests of buffers, the end of the run. */
#ifndef KPT_REPORT_H
#define KPT_REPORT_H

#include <string>

#include "../engine.h"
#include "hip_abi.h"

namespace kpt {

struct Allocation;

/* Writes the buffers' digests and the end of the report, once. */
void report_end();
bool reporting();
void report_line(const std::string &json);
void report_buffer(const Allocation &allocation, const char *when);
void report_launch(const std::string &kernel, dim3 grid, dim3 block, uint32_t lds, double seconds, double cpu,
                   uint64_t stream, const KptCounters *counters);
void report_places(const KptKernel &kernel, const uint64_t *counts);

/* What was executed, and which calls of libraries were computed by stand-ins: for the line on fidelity. */
void note_fidelity(const KptKernel &kernel);
void report_fidelity();

struct Fault {
    std::string kind, kernel, instruction, file, detail, hardware;
    uint32_t group[3] = {0, 0, 0}, wave = 0, line = 0, bytes = 0;
    int lane = -1; /* -1 where it is not known */
    uint64_t address = 0;
    /* No thread of a kernel is at fault, but two pieces of work. */
    bool between_streams() const { return kind == "stream-race"; }
};

/* To the report file and, as a block of text, to standard error; repeats of one place are limited. */
void report_fault(const Fault &fault);
uint64_t faults_reported();

} // namespace kpt
#endif
