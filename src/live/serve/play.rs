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
use super::message::{AnswerPlayback, AnswerSerial, OwnerMessage};
use super::schedule::{ConnectionCut, ConnectionEnding};
use super::{APART, PacketGrouping};
use reenact_wire::prelude::*;
use reenact_world::plan::ResponseHead;

/// An answer under way. When it is dropped before its end, the client has left.
#[derive(Debug)]
pub(super) struct AnswerPlayer {
    pub(super) answer: AnswerPlayback,
    pub(super) from: Instant,
    pub(super) packets: PacketGrouping,
    pub(super) gates: Option<AnswerGates>,
    pub(super) tell: mpsc::UnboundedSender<OwnerMessage>,
    /// The packet that comes next.
    pub(super) next: usize,
    pub(super) is_over: bool,
}

impl AnswerPlayer {
    /// The head, when it is due.
    pub(super) async fn head(&mut self) -> Result<ResponseHead, ConnectionCut> {
        let schedule = &self.answer.schedule;
        let Some(head) = schedule.plan.head.clone() else {
            reach(self.from + schedule.end_at).await;
            return Err(self.end().await.unwrap_or(ConnectionCut::Close));
        };
        reach(self.from + schedule.head_at).await;
        self.pass(AnswerPart::Head).await?;
        self.tell_reached(AnswerPart::Head);
        Ok(head)
    }

    /// The next packet; `None` at the end.
    async fn packet(&mut self) -> Option<Result<Bytes, ConnectionCut>> {
        let packets = &self.answer.schedule.packets;
        let Some(packet) = packets.get(self.next).cloned() else { return self.end_of_body().await.map(Err) };
        let before = self.next.checked_sub(1).map_or(self.answer.schedule.head_at, |before| packets[before].at);
        if self.packets == PacketGrouping::Apart || packet.at > before || self.next == 0 {
            tokio::task::yield_now().await;
        }
        reach(self.from + packet.at).await;
        if packet.begins_piece
            && let Err(cut) = self.pass(AnswerPart::Event(packet.piece)).await
        {
            return Some(Err(cut));
        }
        self.next += 1;
        if packet.ends_piece {
            self.tell_reached(AnswerPart::Event(packet.piece));
        }
        if packet.bytes.is_empty() {
            return Box::pin(self.packet()).await; // it is only told: a chunk of nothing would be the end
        }
        Some(Ok(packet.bytes))
    }

    async fn end_of_body(&mut self) -> Option<ConnectionCut> {
        let schedule = &self.answer.schedule;
        let (end, end_at) = (schedule.end, schedule.end_at);
        let last = schedule.packets.last().map_or(schedule.head_at, |packet| packet.at);
        let is_together = self.packets == PacketGrouping::Together && end_at == last;
        if !(is_together && end == ConnectionEnding::Complete) {
            // What was handed out is written first, whatever comes next.
            tokio::task::yield_now().await;
        }
        let apart = if is_together { Duration::ZERO } else { APART };
        reach((self.from + end_at).max(Instant::now() + apart)).await;
        self.end().await
    }

    /// Ends the answer as the schedule has it; `None` where that is as HTTP has it.
    async fn end(&mut self) -> Option<ConnectionCut> {
        if let Err(cut) = self.pass(AnswerPart::End).await {
            return Some(cut);
        }
        let cut = match self.answer.schedule.end {
            ConnectionEnding::Complete => None,
            ConnectionEnding::Cut(cut) => Some(cut),
            ConnectionEnding::Never => core::future::pending().await,
        };
        self.is_over = true;
        self.tell_reached(AnswerPart::End);
        cut
    }

    /// Waits at a gate, if there is one.
    async fn pass(&mut self, before: AnswerPart) -> Result<(), ConnectionCut> {
        let Some(gates) = &self.gates else { return Ok(()) };
        let cut = match gates.hold(&self.answer, before, self.server()).await {
            HoldRelease::On => return Ok(()),
            HoldRelease::Close => ConnectionCut::Close,
            HoldRelease::Reset => ConnectionCut::Reset,
        };
        self.is_over = true;
        self.report_to_owner(|serial, at| OwnerMessage::CutAtGate { serial, at, cut });
        Err(cut)
    }

    fn server(&self) -> ServerHandle {
        ServerHandle { tell: self.tell.clone(), serial: self.answer.serial }
    }

    fn tell_reached(&self, part: AnswerPart) {
        self.report_to_owner(|serial, at| OwnerMessage::Reached { serial, part, at });
    }

    fn report_to_owner(&self, message: impl FnOnce(AnswerSerial, Instant) -> OwnerMessage) {
        // Who does not listen any more wants to know nothing.
        let _ = self.tell.send(message(self.answer.serial, Instant::now()));
    }
}

impl Drop for AnswerPlayer {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Where its length was told, nobody asks for the end.
        let schedule = &self.answer.schedule;
        let is_all_sent = schedule.is_whole() && self.next == schedule.packets.len();
        let part = if is_all_sent { AnswerPart::End } else { AnswerPart::Left };
        if let Some(gates) = &self.gates {
            gates.tell_over(&self.answer, part, self.server());
        }
        self.tell_reached(part);
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
        let schedule = &player.answer.schedule;
        let length = schedule.is_whole().then(|| schedule.packets.iter().map(|packet| packet.bytes.len() as u64).sum());
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
    use crate::serve::ServeOptions;
    use crate::serve::schedule::AnswerSchedule;
    use reenact_engine::contract::{Agent, AnswerEnd, RequestId};
    use reenact_engine::time::Micros;
    use reenact_scenario::types::Scenario;
    use reenact_world::decoded_pieces::DecodedPieces;
    use reenact_world::plan::{ResponsePlan, TimedPiece};

    /// The parts of a body each time that it is asked, when all is due: `-` for not yet.
    fn asked(packets: PacketGrouping, end: AnswerEnd) -> String {
        let piece = TimedPiece { at: Micros::ZERO, bytes: Arc::from(&b"event"[..]) };
        let pieces = vec![piece.clone(), piece];
        let (head_at, end_at) = (Micros::ZERO, Micros::ZERO);
        let plan = ResponsePlan { head: None, head_at, is_stream: true, pieces, decoded: DecodedPieces::default(), end: Some(end), end_at };
        let schedule =
            AnswerSchedule::new(&Scenario::default(), plan.into(), (&Agent::ROOT, RequestId::first(1)), &ServeOptions::default());
        let (tell, _told) = mpsc::unbounded_channel();
        let (cuts, _cut) = mpsc::unbounded_channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (serial, id) = (AnswerSerial { session: 0, number: 1 }, RequestId::first(1));
            let answer = AnswerPlayback { serial, agent: Agent::ROOT, id, is_last: true, in_flight: Arc::new(()), schedule };
            let player = AnswerPlayer { answer, from: Instant::now(), packets, gates: None, tell, next: 0, is_over: false };
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
        assert_eq!(asked(PacketGrouping::Apart, AnswerEnd::Complete), "-p-p--.", "and the end waits for its time as well");
        assert_eq!(asked(PacketGrouping::Together, AnswerEnd::Complete), "-pp.");
        assert_eq!(
            asked(PacketGrouping::Together, AnswerEnd::Reset),
            "-pp-!",
            "what was handed out is written before the connection breaks"
        );
    }
}
