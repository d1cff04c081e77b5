// kernel: drain; arguments: small_inout; block: 128 1; after: buggy_any_break.cu

