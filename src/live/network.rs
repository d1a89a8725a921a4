//! A network to connect over: the machine's own, or a simulated one (M-11).
//!
//! Server and driver are written against [`Network`], so that what runs in the simulation is what runs for real.

#[cfg(feature = "network")]
pub mod simulated_network;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// A network. Its streams are TCP connections: reading sees the other side's end, writing may find it gone.
pub trait Network: Clone + Send + Sync + 'static {
    /// One connection.
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    /// An open port.
    type Listener: Send + Sync + 'static;

    /// Connects to a host's port.
    fn connect(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Opens a port; 0 for any that is free.
    fn bind(&self, address: SocketAddr) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// Which address an open port has.
    ///
    /// # Errors
    /// Those of the operating system.
    fn address(listener: &Self::Listener) -> io::Result<SocketAddr>;

    /// The next connection to an open port, and where it comes from.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;

    /// Makes closing this connection break it: the other side gets a reset and not an end.
    fn break_on_close(stream: &Self::Stream);
}

/// The machine's own network.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineNetwork;

impl Network for MachineNetwork {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let stream = TcpStream::connect((host, port)).await?;
        // Each piece is sent when it is there: packet boundaries are data (F-1).
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn bind(&self, address: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(address).await
    }

    fn address(listener: &TcpListener) -> io::Result<SocketAddr> {
        listener.local_addr()
    }

    async fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, from) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok((stream, from))
    }

    fn break_on_close(stream: &TcpStream) {
        // Where the operating system does not know of it, the other side gets a plain end.
        let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}

/// Any free port of this machine, for this machine alone.
pub const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
