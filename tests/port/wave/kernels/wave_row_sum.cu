// kernel: row_sum; arguments: floats_rows out 40; block: 128 1; after: buggy_wave_size_lane.cu

