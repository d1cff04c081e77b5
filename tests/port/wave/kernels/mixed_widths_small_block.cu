// kernel: block_sum; arguments: floats out; block: 96 1; after: buggy_mixed_widths.cu

