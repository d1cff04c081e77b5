# nvcc is not used here
CXX ?= g++

main: main.cpp
	$(CXX) -O3 $< -o $@
