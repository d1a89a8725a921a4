//! Values that copies of a state share and that never change: a key has the key of the value, which is made once (E-3).

use core::hash::{Hash, Hasher};
use core::ops::Deref;

use once_cell::race::OnceBox;

use super::{KeySink, StateKey};
use reenact_wire::prelude::*;

/// A value that never changes, with its own key once that was asked for. Its type has no instant in it: what is left until then is another span each time.
#[derive(Debug)]
pub struct SharedValue<T>(Arc<KeyedOnce<T>>);

#[derive(Debug)]
struct KeyedOnce<T> {
    value: Arc<T>,
    key: OnceBox<StateKey>,
}

impl<T: Hash> SharedValue<T> {
    fn key(&self) -> StateKey {
        let of_value = || {
            let mut sink = KeySink::without_instants();
            self.0.value.hash(&mut sink);
            Box::new(sink.key())
        };
        *self.0.key.get_or_init(of_value)
    }
}

impl<T> From<Arc<T>> for SharedValue<T> {
    fn from(value: Arc<T>) -> Self {
        Self(Arc::new(KeyedOnce { value, key: OnceBox::new() }))
    }
}

impl<T> Clone for SharedValue<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: PartialEq> PartialEq for SharedValue<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.value == other.0.value
    }
}

impl<T: Hash> Hash for SharedValue<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.key().0.to_le_bytes());
    }
}

impl<T> Deref for SharedValue<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Time;

    #[test]
    fn e_3_equal_values_have_one_key_wherever_they_are() {
        let key = |now: u64, text: &str| {
            let mut sink = KeySink::new(Time(now));
            SharedValue::from(Arc::new(String::from(text))).hash(&mut sink);
            sink.key()
        };
        assert_eq!(key(0, "a"), key(7, "a"));
        assert_ne!(key(0, "a"), key(0, "b"));
    }

    #[test]
    #[should_panic(expected = "an instant")]
    fn e_3_a_shared_value_has_no_instant_in_it() {
        SharedValue::from(Arc::new(Time(5))).hash(&mut KeySink::default());
    }
}
