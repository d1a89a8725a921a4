//! A server of nothing but hyper: it reads a request and sends the bytes that it was given, a chunk for each event.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Starts it for as long as this process lives; the port.
#[expect(clippy::disallowed_methods, reason = "what fails in this thread fails the client that reads from it")]
pub(crate) fn start(body: &[u8]) -> u16 {
    let events = events(body);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be made");
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
            tell.send(listener.local_addr().expect("an open port has an address").port()).expect("somebody wants to know");
            loop {
                let (stream, _) = listener.accept().await.expect("a connection can be accepted");
                stream.set_nodelay(true).expect("TCP can be told not to wait");
                let events = events.clone();
                let service = service_fn(move |request| answer(request, events.clone()));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
    });
    told.recv().expect("the server starts")
}

type BareAnswer = StreamBody<futures_util::stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

async fn answer(request: Request<Incoming>, events: Vec<Bytes>) -> Result<Response<BareAnswer>, hyper::Error> {
    request.into_body().collect().await?;
    let frames: Vec<Result<Frame<Bytes>, Infallible>> = events.into_iter().map(|event| Ok(Frame::data(event))).collect();
    let mut response = Response::new(StreamBody::new(futures_util::stream::iter(frames)));
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("text/event-stream; charset=utf-8"));
    Ok(response)
}

/// A stream's events, each with the empty line that ends it.
fn events(body: &[u8]) -> Vec<Bytes> {
    let mut events = Vec::new();
    let mut rest = body;
    while let Some(end) = rest.windows(2).position(|window| window == b"\n\n") {
        events.push(Bytes::copy_from_slice(&rest[..end + 2]));
        rest = &rest[end + 2..];
    }
    events
}
