struct Pool { void add(int); };
void fill(Pool *register_, int registered) { register_->add(registered); }  // register the buffers
