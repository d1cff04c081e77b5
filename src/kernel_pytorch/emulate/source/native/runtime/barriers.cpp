/* Barriers of a block and of a grid. */
#include <cstring>
#include <string>

#include "errors.h"
#include "runtime.h"

namespace kpt {

void open_barrier(Block &block) {
    int count = 0, all = 1, any = 0;
    Thread *first = nullptr, *other = nullptr;
    for (Thread *t : block.threads) {
        if (t->at != At::barrier) continue;
        if (!first)
            first = t;
        else if (!other && (t->place.line != first->place.line || strcmp(t->place.file, first->place.file) != 0))
            other = t;
        count += t->predicate != 0;
        all &= t->predicate != 0;
        any |= t->predicate != 0;
    }
    if (other)
        report_fault(
            {"barrier", first->place,
             "threads of one block met at different calls of __syncthreads(): " + std::to_string(first->number) +
                 " here, " + std::to_string(other->number) + " at {other}",
             "undefined by CUDA, whose rule is one call that all threads reach; the barrier counts arrivals, so "
             "it may pass by chance, and a compiler may place the two calls so that it does not",
             other, other->place});
    if (settings.races) order_block(block);
    block.arrived = 0;
    for (Thread *t : block.threads) {
        if (t->at != At::barrier) continue;
        t->result = t->kind == 1 ? count : t->kind == 2 ? all : any;
        make_ready(t);
    }
    note_progress(*block.worker);
}

void open_grid(Worker &worker) {
    if (settings.races) order_grid(worker);
    worker.grid_arrived = 0;
    for (Block *block : worker.resident)
        for (Thread *t : block->threads)
            if (t->at == At::grid) make_ready(t);
    note_progress(worker);
}

} // namespace kpt

using namespace kpt;

extern "C" int kpt_syncthreads(int mode, int predicate, const char *file, int line) {
    Thread *t = kpt_current;
    if (!t) return predicate;
    if (settings.races) settle(t);
    Block *block = t->block;
    t->place = {file, uint32_t(line)};
    t->kind = mode;
    t->predicate = predicate;
    t->at = At::barrier;
    if (++block->arrived == block->live) {
        open_barrier(*block);
    }
    yield(t);
    return int(t->result);
}

extern "C" void kpt_syncgrid(const char *file, int line) {
    Thread *t = kpt_current;
    if (!t) return;
    if (settings.races) settle(t);
    Worker *worker = worker_of(t);
    if (!worker->launch->what.cooperative) {
        report_fault({"barrier",
                      {file, uint32_t(line)},
                      "grid.sync() in a kernel that was not launched cooperatively",
                      "undefined: the launch needs cudaLaunchCooperativeKernel",
                      t,
                      {nullptr, 0}});
        stop_launch(ERROR_LAUNCH_FAILURE);
    }
    t->place = {file, uint32_t(line)};
    t->at = At::grid;
    if (++worker->grid_arrived == worker->grid_live) {
        open_grid(*worker);
    }
    yield(t);
}
