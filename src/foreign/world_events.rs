//! The events that the world has still to deliver to a client in virtual time: parts of answers, and ends of scripted tools.
//!
//! World and client order them by the same rule: the time, then the request or tool that was first, then the order within one. So a count of
//! delivered events tells the world exactly how far its client is.

use alloc::collections::BTreeMap;

use serde_json::Value;

use reenact_engine::time::Time;
use reenact_wire::prelude::*;
use reenact_world::delivery::AnswerPart;

/// An event under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WorldEvent {
    pub(super) at: Time,
    pub(super) source: EventSource,
    /// Its name, as boundaries have it: `answer 1 piece 3`.
    pub(super) name: Arc<str>,
    /// The names of the stream events that it completes.
    pub(super) stream_events: Vec<Arc<str>>,
}

/// The source of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EventSource {
    /// A part of an answer.
    Answer {
        /// The number of the answer.
        answer: u32,
        /// Its number in the session, and the part, for what the session keeps of it.
        part: Option<(u32, AnswerPart)>,
    },
    /// The end of a tool.
    Tool {
        /// The id of its tool use.
        id: Arc<str>,
        /// Whether its result is an error.
        is_error: bool,
        /// Its result.
        content: Value,
    },
}

/// The events under way, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct WorldEvents {
    /// By time, source and place within the source.
    queue: BTreeMap<(Time, u64, u32), WorldEvent>,
    sources: u64,
    /// How many were delivered.
    delivered: u64,
}

impl WorldEvents {
    /// Adds the events of a request or of a tool, in their order.
    pub(super) fn add(&mut self, events: impl IntoIterator<Item = WorldEvent>) {
        self.sources += 1;
        for (nth, event) in (0..).zip(events) {
            self.queue.insert((event.at, self.sources, nth), event);
        }
    }

    /// Takes what comes before this moment: so many events, or all that are due.
    ///
    /// # Errors
    /// The client counted more than there are, or fewer than before.
    pub(super) fn deliver(&mut self, at: Time, seen: Option<u64>) -> Result<Vec<WorldEvent>, String> {
        let count =
            match seen {
                Some(seen) => usize::try_from(seen.checked_sub(self.delivered).ok_or_else(|| {
                    format!("`seen` is {seen}, and {} events were delivered before: it counts all of a run", self.delivered)
                })?)
                .unwrap_or(usize::MAX),
                None => self.queue.range(..=(at, u64::MAX, u32::MAX)).count(),
            };
        if count > self.queue.len() {
            return Err(format!(
                "`seen` counts {count} more events, and only {} are under way: those of closed answers and of stopped tools do not count",
                self.queue.len()
            ));
        }
        let mut delivered = Vec::with_capacity(count);
        for _ in 0..count {
            let Some((_, event)) = self.queue.pop_first() else { break };
            delivered.push(event);
        }
        self.delivered += delivered.len() as u64;
        Ok(delivered)
    }

    /// Takes back what is left of an answer or of a tool.
    pub(super) fn remove(&mut self, is_it: impl Fn(&EventSource) -> bool) {
        self.queue.retain(|_, event| !is_it(&event.source));
    }

    /// The events under way, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &WorldEvent> {
        self.queue.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u64, name: &str) -> WorldEvent {
        let source = EventSource::Tool { id: name.into(), is_error: false, content: Value::Null };
        WorldEvent { at: Time(at), source, name: name.into(), stream_events: Vec::new() }
    }

    fn names(delivered: Result<Vec<WorldEvent>, String>) -> Vec<Arc<str>> {
        delivered.unwrap().into_iter().map(|event| event.name).collect()
    }

    #[test]
    fn g_1_events_come_by_time_then_by_source_then_in_their_order() {
        let mut events = WorldEvents::default();
        events.add([event(5, "a"), event(5, "b"), event(9, "c")]);
        events.add([event(5, "d"), event(7, "e")]);
        assert_eq!(names(events.deliver(Time(5), Some(2))), ["a".into(), "b".into()]);
        assert_eq!(names(events.deliver(Time(7), None)), ["d".into(), "e".into()]);
        assert!(events.deliver(Time(7), Some(3)).unwrap_err().contains("4 events were delivered before"));
        assert!(events.deliver(Time(7), Some(9)).unwrap_err().contains("only 1 are under way"));
        events.remove(|source| matches!(source, EventSource::Tool { id, .. } if **id == *"c"));
        assert_eq!(names(events.deliver(Time(99), None)), [""; 0].map(Arc::from));
    }
}
