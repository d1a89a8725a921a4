//! Room for bytes on their way to the tape writer: a slow disk must not fill the memory (K-12).

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

use super::ROOM_BYTES;

/// The memory of a chunk beside its bytes.
const CHUNK_COST_BYTES: usize = 128;

/// Room for bytes on their way to the tape writer, when there is some.
pub(super) type Room = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Takes room for a piece of a body, or gives what to wait for. The tape writer gives it back.
pub(super) fn take_room(room: &Arc<Semaphore>, length: usize) -> Option<Room> {
    let cost = room_for(length);
    match room.try_acquire_many(cost) {
        Ok(permit) => {
            permit.forget();
            None
        }
        Err(_) => {
            let room = Arc::clone(room);
            Some(Box::pin(async move {
                if let Ok(permit) = room.acquire_many(cost).await {
                    permit.forget();
                }
            }))
        }
    }
}

/// How much room a piece of this length takes.
pub(super) fn room_for(length: usize) -> u32 {
    u32::try_from((length + CHUNK_COST_BYTES).min(ROOM_BYTES)).unwrap_or(u32::MAX)
}
