# Compiler can be set below, or via environment variable
NVCC      ?= $(CUDA_HOME)/bin/nvcc
ARCH       = sm_80
CFLAGS    := $(EXTRA_CFLAGS) -std=c++17 -Xcompiler -Wall,-fopenmp -arch=$(ARCH) \
             -I$(CUDA_HOME)/include --expt-relaxed-constexpr
LDFLAGS    = -lcublas -lcudart -lm

source = main.cu kernels.cu
obj    = $(source:.cu=.o)

ifeq ($(FAST),yes)
  CFLAGS += --use_fast_math
endif

main: $(obj) in.mk
	$(NVCC) $(CFLAGS) $(obj) -o $@ $(LDFLAGS)

%.o: %.cu reference.h
	$(NVCC) $(CFLAGS) -dc $< -o $@

clean:
	rm -rf main $(obj)

run: main
	./main -t 100 -arch 3
