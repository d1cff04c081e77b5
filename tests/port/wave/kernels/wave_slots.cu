// kernel: slots; arguments: floats out; block: 128 1; after: buggy_wave_slots.cu

