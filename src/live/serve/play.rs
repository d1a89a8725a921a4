//! Plays an answer on a connection: waits for each part's time, asks the gate, hands it out to be written by itself.
//!
//! The body hands out one packet and is then not ready at once, even if the next is due: so the connection writes each packet before it
//! gets the next, and what a client reads together was together on the network and not here.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::gate::{Before, Boundary, Gates, Go, Server};
use super::owner::{Message, Serial};
use super::schedule::{Ending, Schedule};
use super::{APART, Packets};
use crate::engine::contract::{Agent, RequestId};
use crate::prelude::*;
use crate::world::delivery::Part;

/// How a connection has to be closed, when it does not end as HTTP has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Cut {
    #[error("the answer is cut here: the connection is closed")]
    Close,
    #[error("the answer is cut here: the connection breaks")]
    Reset,
}

/// An answer under way. When it is dropped before its end, the client has left.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) serial: Serial,
    pub(super) agent: Agent,
    pub(super) id: RequestId,
    /// Its number among the answers with messages; `None` for all others, which are not held.
    pub(super) number: Option<u32>,
    pub(super) from: Instant,
    pub(super) schedule: Arc<Schedule>,
    pub(super) packets: Packets,
    pub(super) gates: Option<Gates>,
    pub(super) tell: mpsc::UnboundedSender<Message>,
    pub(super) next: usize,
    pub(super) is_over: bool,
}

impl Player {
    /// Waits until the head is due.
    pub(super) async fn head(&mut self) -> Result<(), Cut> {
        let at = self.from + self.schedule.head_at;
        if self.schedule.head.is_none() {
            return Err(self.end_without_head().await);
        }
        reach(at).await;
        self.pass(Before::Head, None).await?;
        self.sent(Part::Head);
        Ok(())
    }

    /// The next packet; `None` at the end.
    async fn packet(&mut self) -> Option<Result<Bytes, Cut>> {
        let schedule = self.schedule.clone();
        let Some(packet) = schedule.packets.get(self.next) else { return self.end().await.map(Err) };
        let before = self.next.checked_sub(1).map_or(schedule.head_at, |before| schedule.packets[before].at);
        if self.packets == Packets::Apart || packet.at > before || self.next == 0 {
            tokio::task::yield_now().await;
        }
        reach(self.from + packet.at).await;
        if let Some(number) = packet.begins_piece
            && let Err(cut) = self.pass(Before::Event(number), packet.event.clone()).await
        {
            return Some(Err(cut));
        }
        self.next += 1;
        if packet.ends_piece {
            self.sent(Part::Piece);
        }
        if packet.bytes.is_empty() {
            return Box::pin(self.packet()).await; // it is only told: a chunk of nothing would be the end
        }
        Some(Ok(packet.bytes.clone()))
    }

    async fn end(&mut self) -> Option<Cut> {
        let schedule = self.schedule.clone();
        let last = schedule.packets.last().map_or(schedule.head_at, |packet| packet.at);
        let is_together = self.packets == Packets::Together && schedule.end_at == last;
        match schedule.end {
            Ending::Complete if is_together => (),
            // What was handed out is written first, whatever comes next.
            _ => tokio::task::yield_now().await,
        }
        let apart = if is_together { Duration::ZERO } else { APART };
        reach((self.from + schedule.end_at).max(Instant::now() + apart)).await;
        if let Err(cut) = self.pass(Before::End, None).await {
            return Some(cut);
        }
        match schedule.end {
            Ending::Complete => {
                self.over();
                None
            }
            Ending::Truncated => Some(self.cut(Cut::Close)),
            Ending::Reset => Some(self.cut(Cut::Reset)),
            Ending::Never => core::future::pending().await,
        }
    }

    async fn end_without_head(&mut self) -> Cut {
        reach(self.from + self.schedule.end_at).await;
        if let Err(cut) = self.pass(Before::End, None).await {
            return cut;
        }
        match self.schedule.end {
            Ending::Never => core::future::pending().await,
            Ending::Truncated | Ending::Complete => self.cut(Cut::Close),
            Ending::Reset => self.cut(Cut::Reset),
        }
    }

    /// Waits at a gate, if there is one.
    async fn pass(&mut self, before: Before, event: Option<Arc<str>>) -> Result<(), Cut> {
        let (Some(gates), Some(answer)) = (&self.gates, self.number) else { return Ok(()) };
        let server = Server { tell: self.tell.clone(), serial: self.serial };
        let cut = match gates.hold(Boundary { answer, before }, (&self.agent, self.id), event, server).await {
            Go::On => return Ok(()),
            Go::Close => Cut::Close,
            Go::Reset => Cut::Reset,
        };
        self.is_over = true;
        self.say(|serial, at| Message::CutAtGate { serial, at, cut });
        Err(cut)
    }

    fn cut(&mut self, cut: Cut) -> Cut {
        self.over();
        cut
    }

    fn over(&mut self) {
        self.is_over = true;
        self.sent(Part::End);
    }

    fn sent(&self, part: Part) {
        self.say(|serial, at| Message::Sent { serial, part, at });
    }

    fn say(&self, message: impl FnOnce(Serial, Instant) -> Message) {
        // Who does not listen any more wants to know nothing.
        let _ = self.tell.send(message(self.serial, Instant::now()));
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        if self.schedule.is_whole && self.next == self.schedule.packets.len() {
            return self.sent(Part::End); // its length was told: nobody asks for the end
        }
        self.say(|serial, at| Message::Left { serial, at });
    }
}

/// Waits until a time. A timer would take a moment also where there is nothing to wait for, and part what belongs together.
async fn reach(at: Instant) {
    if at > Instant::now() {
        sleep_until(at).await;
    }
}

type Next = Pin<Box<dyn Future<Output = (Player, Option<Result<Bytes, Cut>>)> + Send>>;

/// The body of an answer, as it is played.
pub(super) struct Played {
    /// What comes next; `None` when nothing does.
    next: Option<Next>,
    length: Option<u64>,
    /// Where the connection is told how to close.
    cuts: mpsc::UnboundedSender<Cut>,
}

impl Played {
    pub(super) fn new(player: Player, cuts: mpsc::UnboundedSender<Cut>) -> Self {
        let schedule = &player.schedule;
        let length = schedule.is_whole.then(|| schedule.packets.iter().map(|packet| packet.bytes.len() as u64).sum());
        Self { next: Some(next(player)), length, cuts }
    }
}

fn next(mut player: Player) -> Next {
    Box::pin(async move {
        let packet = player.packet().await;
        (player, packet)
    })
}

impl Body for Played {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Some(coming) = &mut self.next else { return Poll::Ready(None) };
        let Poll::Ready((player, packet)) = coming.as_mut().poll(context) else { return Poll::Pending };
        match packet {
            Some(Ok(bytes)) => {
                self.next = Some(next(player));
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
            Some(Err(cut)) => {
                self.next = None;
                let _ = self.cuts.send(cut);
                Poll::Ready(Some(Err(cut)))
            }
            None => {
                self.next = None;
                Poll::Ready(None)
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::serve::schedule::Packet;

    /// What a body says each time it is asked, when all is due: `-` for not yet.
    fn asked(packets: Packets, end: Ending) -> String {
        let packet = |number| Packet {
            at: Duration::ZERO,
            bytes: Bytes::from_static(b"event"),
            ends_piece: true,
            begins_piece: Some(number),
            event: None,
        };
        let schedule = Arc::new(Schedule {
            head: None,
            head_at: Duration::ZERO,
            packets: vec![packet(1), packet(2)],
            end,
            end_at: Duration::ZERO,
            is_whole: false,
        });
        let (tell, _told) = mpsc::unbounded_channel();
        let (cuts, _cut) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (serial, agent, id) = (Serial { session: 0, number: 1 }, Agent::ROOT, RequestId::first(1));
            let player = Player {
                serial,
                agent,
                id,
                number: None,
                from: Instant::now(),
                schedule,
                packets,
                gates: None,
                tell,
                next: 0,
                is_over: false,
            };
            let mut body = Box::pin(Played::new(player, cuts));
            let mut said = String::new();
            core::future::poll_fn(|context| {
                loop {
                    match body.as_mut().poll_frame(context) {
                        Poll::Pending => {
                            said.push('-');
                            return Poll::Pending;
                        }
                        Poll::Ready(Some(Ok(_))) => said.push('p'),
                        Poll::Ready(Some(Err(_))) => {
                            said.push('!');
                            return Poll::Ready(());
                        }
                        Poll::Ready(None) => {
                            said.push('.');
                            return Poll::Ready(());
                        }
                    }
                }
            })
            .await;
            said
        })
    }

    #[test]
    fn k_9_each_packet_is_written_before_the_next_is_handed_out() {
        assert_eq!(asked(Packets::Apart, Ending::Complete), "-p-p--.", "and the end waits for its time as well");
        assert_eq!(asked(Packets::Together, Ending::Complete), "-pp.");
        assert_eq!(asked(Packets::Together, Ending::Reset), "-pp-!", "what was handed out is written before the connection breaks");
    }
}
