//! Lines as people read them.
