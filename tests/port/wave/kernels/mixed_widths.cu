// kernel: block_sum; arguments: floats out; block: 128 1; after: buggy_mixed_widths.cu

