// kernel: rotate; arguments: out floats; block: 128 1; after: buggy_full_mask_with_width.cu

