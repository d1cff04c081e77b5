// kernel: agree; arguments: mostly_one out; block: 128 1; after: buggy_all_vote.cu

