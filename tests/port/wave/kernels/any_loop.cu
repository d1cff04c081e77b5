// kernel: walk; arguments: next start; block: 128 1; after: buggy_any_loop.cu

