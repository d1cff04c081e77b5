"""CUDA C++ to HIP C++: lexer, name table, translation units, layouts."""
