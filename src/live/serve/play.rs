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

use super::gate::{AnswerGates, AnswerPart, HoldRelease, ServerHandle};
use super::message::{AnswerSerial, ConnectionCut, GatedAnswer, OwnerMessage};
use super::schedule::{AnswerSchedule, ComingPart, ConnectionEnding};
use super::{APART, PacketGrouping};
use reenact_wire::prelude::*;
use reenact_world::delivery::DeliveryPart;

/// An answer under way. When it is dropped before its end, the client has left.
#[derive(Debug)]
pub(super) struct AnswerPlayer {
    pub(super) serial: AnswerSerial,
    pub(super) answer: GatedAnswer,
    pub(super) from: Instant,
    pub(super) schedule: Arc<AnswerSchedule>,
    pub(super) packets: PacketGrouping,
    pub(super) gates: Option<AnswerGates>,
    pub(super) tell: mpsc::UnboundedSender<OwnerMessage>,
    pub(super) next: usize,
    pub(super) is_over: bool,
}

impl AnswerPlayer {
    /// Waits until the head is due.
    pub(super) async fn head(&mut self) -> Result<(), ConnectionCut> {
        let at = self.from + self.schedule.head_at;
        if self.schedule.head.is_none() {
            return Err(self.end_without_head().await);
        }
        reach(at).await;
        self.pass(AnswerPart::Head, ComingPart::default()).await?;
        self.sent(DeliveryPart::Head);
        Ok(())
    }

    /// The next packet; `None` at the end.
    async fn packet(&mut self) -> Option<Result<Bytes, ConnectionCut>> {
        let schedule = self.schedule.clone();
        let Some(packet) = schedule.packets.get(self.next) else { return self.end().await.map(Err) };
        let before = self.next.checked_sub(1).map_or(schedule.head_at, |before| schedule.packets[before].at);
        if self.packets == PacketGrouping::Apart || packet.at > before || self.next == 0 {
            tokio::task::yield_now().await;
        }
        reach(self.from + packet.at).await;
        if let Some(number) = packet.begins_piece
            && let Err(cut) = self.pass(AnswerPart::Event(number), packet.coming.clone()).await
        {
            return Some(Err(cut));
        }
        self.next += 1;
        if packet.ends_piece {
            self.sent(DeliveryPart::Piece);
        }
        if packet.bytes.is_empty() {
            return Box::pin(self.packet()).await; // it is only told: a chunk of nothing would be the end
        }
        Some(Ok(packet.bytes.clone()))
    }

    async fn end(&mut self) -> Option<ConnectionCut> {
        let schedule = self.schedule.clone();
        let last = schedule.packets.last().map_or(schedule.head_at, |packet| packet.at);
        let is_together = self.packets == PacketGrouping::Together && schedule.end_at == last;
        match schedule.end {
            ConnectionEnding::Complete if is_together => (),
            // What was handed out is written first, whatever comes next.
            _ => tokio::task::yield_now().await,
        }
        let apart = if is_together { Duration::ZERO } else { APART };
        reach((self.from + schedule.end_at).max(Instant::now() + apart)).await;
        if let Err(cut) = self.pass(AnswerPart::End, ComingPart::default()).await {
            return Some(cut);
        }
        match schedule.end {
            ConnectionEnding::Complete => {
                self.end_answer();
                None
            }
            ConnectionEnding::Truncated => Some(self.cut(ConnectionCut::Close)),
            ConnectionEnding::Reset => Some(self.cut(ConnectionCut::Reset)),
            ConnectionEnding::Never => core::future::pending().await,
        }
    }

    async fn end_without_head(&mut self) -> ConnectionCut {
        reach(self.from + self.schedule.end_at).await;
        if let Err(cut) = self.pass(AnswerPart::End, ComingPart::default()).await {
            return cut;
        }
        match self.schedule.end {
            ConnectionEnding::Never => core::future::pending().await,
            ConnectionEnding::Truncated | ConnectionEnding::Complete => self.cut(ConnectionCut::Close),
            ConnectionEnding::Reset => self.cut(ConnectionCut::Reset),
        }
    }

    /// Waits at a gate, if there is one.
    async fn pass(&mut self, before: AnswerPart, coming: ComingPart) -> Result<(), ConnectionCut> {
        let Some(gates) = &self.gates else { return Ok(()) };
        let cut = match gates.hold(&self.answer, before, coming, self.server()).await {
            HoldRelease::On => return Ok(()),
            HoldRelease::Close => ConnectionCut::Close,
            HoldRelease::Reset => ConnectionCut::Reset,
        };
        self.is_over = true;
        self.report_to_owner(|serial, at| OwnerMessage::CutAtGate { serial, at, cut });
        Err(cut)
    }

    fn server(&self) -> ServerHandle {
        ServerHandle { tell: self.tell.clone(), serial: self.serial }
    }

    fn cut(&mut self, cut: ConnectionCut) -> ConnectionCut {
        self.end_answer();
        cut
    }

    fn end_answer(&mut self) {
        self.is_over = true;
        self.sent(DeliveryPart::End);
    }

    fn sent(&self, part: DeliveryPart) {
        self.report_to_owner(|serial, at| OwnerMessage::Sent { serial, part, at });
    }

    fn report_to_owner(&self, message: impl FnOnce(AnswerSerial, Instant) -> OwnerMessage) {
        // Who does not listen any more wants to know nothing.
        let _ = self.tell.send(message(self.serial, Instant::now()));
    }
}

impl Drop for AnswerPlayer {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Where its length was told, nobody asks for the end.
        let is_whole = self.schedule.is_whole && self.next == self.schedule.packets.len();
        if let Some(gates) = &self.gates {
            gates.tell_over(&self.answer, if is_whole { AnswerPart::End } else { AnswerPart::Left }, self.server());
        }
        if is_whole {
            return self.sent(DeliveryPart::End);
        }
        self.report_to_owner(|serial, at| OwnerMessage::Left { serial, at });
    }
}

/// Waits until a time. A timer would take a moment also where there is nothing to wait for, and part what belongs together.
async fn reach(at: Instant) {
    if at > Instant::now() {
        sleep_until(at).await;
    }
}

type Next = Pin<Box<dyn Future<Output = (AnswerPlayer, Option<Result<Bytes, ConnectionCut>>)> + Send>>;

/// The body of an answer, as it is played.
pub(super) struct PlayedBody {
    /// The next part; `None` after the last one.
    next: Option<Next>,
    length: Option<u64>,
    /// Where the connection is told how to close.
    cuts: mpsc::UnboundedSender<ConnectionCut>,
}

impl PlayedBody {
    pub(super) fn new(player: AnswerPlayer, cuts: mpsc::UnboundedSender<ConnectionCut>) -> Self {
        let schedule = &player.schedule;
        let length = schedule.is_whole.then(|| schedule.packets.iter().map(|packet| packet.bytes.len() as u64).sum());
        Self { next: Some(next(player)), length, cuts }
    }
}

fn next(mut player: AnswerPlayer) -> Next {
    Box::pin(async move {
        let packet = player.packet().await;
        (player, packet)
    })
}

impl Body for PlayedBody {
    type Data = Bytes;
    type Error = ConnectionCut;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ConnectionCut>>> {
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
    use crate::serve::schedule::TimedPacket;
    use reenact_engine::contract::{Agent, RequestId};

    /// The parts of a body each time that it is asked, when all is due: `-` for not yet.
    fn asked(packets: PacketGrouping, end: ConnectionEnding) -> String {
        let packet = |number| TimedPacket {
            at: Duration::ZERO,
            bytes: Bytes::from_static(b"event"),
            ends_piece: true,
            begins_piece: Some(number),
            coming: ComingPart::default(),
        };
        let schedule = Arc::new(AnswerSchedule {
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
            let answer = GatedAnswer { number: 1, agent: Agent::ROOT, id: RequestId::first(1), is_last: true, in_flight: Arc::new(()) };
            let player = AnswerPlayer {
                serial: AnswerSerial { session: 0, number: 1 },
                answer,
                from: Instant::now(),
                schedule,
                packets,
                gates: None,
                tell,
                next: 0,
                is_over: false,
            };
            let mut body = Box::pin(PlayedBody::new(player, cuts));
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
        assert_eq!(asked(PacketGrouping::Apart, ConnectionEnding::Complete), "-p-p--.", "and the end waits for its time as well");
        assert_eq!(asked(PacketGrouping::Together, ConnectionEnding::Complete), "-pp.");
        assert_eq!(
            asked(PacketGrouping::Together, ConnectionEnding::Reset),
            "-pp-!",
            "what was handed out is written before the connection breaks"
        );
    }
}
