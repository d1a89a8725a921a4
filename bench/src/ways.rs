//! The ways from the client to the API: none between, the recorder, nginx, mitmdump. Each proxy is a process of its own.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::foreign;

/// A way, for as long as it is kept.
pub(crate) struct ClientWay {
    /// The port at which it begins.
    pub(crate) port: u16,
    child: Option<Child>,
    /// Where it writes; goes with it.
    folder: Option<PathBuf>,
}

impl Drop for ClientWay {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // One that has ended is gone, as it is to be.
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Straight to the API.
pub(crate) fn direct(upstream: u16) -> ClientWay {
    ClientWay { port: upstream, child: None, folder: None }
}

impl ClientWay {
    /// Through the recorder, which writes to the disk.
    pub(crate) fn recorder(program: &Path, upstream: u16) -> Self {
        let folder = folder("recorder");
        let mut command = Command::new(program);
        command.args(["record", "--upstream", &format!("http://127.0.0.1:{upstream}"), "--out"]).arg(folder.join(TAPE));
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the recorder can be started");
        let port = port_told(child.stderr.take().expect("its words are piped"));
        Self { port, child: Some(child), folder: Some(folder) }
    }

    /// No proxy, but the replay server with this scenario, a session for each path.
    pub(crate) fn server(program: &Path, scenario: &str, options: &[&str]) -> Self {
        let folder = folder(&format!("server-{}", free_port()));
        let path = folder.join("bench.toml");
        std::fs::write(&path, scenario).expect("the target folder can be written to");
        let mut command = Command::new(program);
        command.arg("serve").arg(path).arg("--sessions").args(options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the server can be started");
        let port = port_told(child.stdout.take().expect("its words are piped"));
        Self { port, child: Some(child), folder: Some(folder) }
    }

    /// Through nginx, which passes on what comes.
    ///
    /// # Errors
    /// Why it is missing.
    pub(crate) fn nginx(upstream: u16) -> Result<Self, String> {
        let program = foreign::nginx()?;
        let (folder, port) = (folder("nginx"), free_port());
        std::fs::write(folder.join("nginx.conf"), nginx_configuration(port, upstream)).expect("the target folder can be written to");
        let mut command = Command::new(program);
        command.arg("-p").arg(&folder).args(["-c", "nginx.conf", "-e", "error.log"]).stderr(Stdio::null());
        Ok(Self::started(command, port, folder))
    }

    /// Through mitmdump, told to stream.
    ///
    /// # Errors
    /// Why it is missing.
    pub(crate) fn mitmdump(upstream: u16) -> Result<Self, String> {
        let program = foreign::mitmdump()?;
        let (folder, port) = (folder("mitmdump"), free_port());
        let mut command = Command::new(program);
        command.args(["--quiet", "--mode", &format!("reverse:http://127.0.0.1:{upstream}"), "--listen-host", "127.0.0.1", "--listen-port"]);
        command.arg(port.to_string()).args(["--set", "stream_large_bodies=1", "--set"]).arg(format!("confdir={}", folder.display()));
        Ok(Self::started(command, port, folder))
    }

    fn started(mut command: Command, port: u16, folder: PathBuf) -> Self {
        let child = command.stdout(Stdio::null()).spawn().expect("a program that is there can be started");
        let way = Self { port, child: Some(child), folder: Some(folder) };
        way.wait_until_open();
        way
    }

    #[expect(clippy::disallowed_methods, reason = "another program takes its time to start")]
    fn wait_until_open(&self) {
        for _ in 0..STARTING_MS / 10 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("a proxy does not listen after {STARTING_MS} ms");
    }

    /// The process.
    pub(crate) fn process(&self) -> u32 {
        self.child.as_ref().map_or_else(std::process::id, Child::id)
    }

    /// The lines of the recorder's tape that hold `word`.
    pub(crate) fn lines_with(&self, word: &str) -> usize {
        let folder = self.folder.as_ref().expect("a recorder has a folder");
        let tape = std::fs::File::open(folder.join(TAPE)).expect("a recorder writes a tape");
        BufReader::new(tape).lines().filter(|line| line.as_ref().is_ok_and(|line| line.starts_with(word))).count()
    }
}

const TAPE: &str = "bench.tape.jsonl";

/// How long a proxy may take to start.
const STARTING_MS: u64 = 20_000;

/// The port in the first line that names an address of this machine; what the process says later is read and forgotten.
#[expect(clippy::disallowed_methods, reason = "the thread ends with the process that it reads from")]
pub(crate) fn port_told(words: impl std::io::Read + Send + 'static) -> u16 {
    let mut lines = BufReader::new(words).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let after = line.split_once("http://127.0.0.1:")?.1;
        after.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    });
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("a server tells where it listens")
}

/// The most memory that a process ever had, in bytes.
///
/// # Errors
/// Why it is not known.
pub(crate) fn memory_peak_bytes(process: u32) -> Result<usize, String> {
    memory(process, "VmHWM:")
}

/// The memory that a process has, in bytes.
///
/// # Errors
/// Why it is not known.
pub(crate) fn memory_bytes(process: u32) -> Result<usize, String> {
    memory(process, "VmRSS:")
}

fn memory(process: u32, name: &str) -> Result<usize, String> {
    let path = format!("/proc/{process}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| format!("{path} cannot be read ({error}): only Linux has it"))?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
    kilobytes.map(|kilobytes| kilobytes << 10).ok_or_else(|| format!("{path} does not say {name}"))
}

/// An empty folder of this bench, within the target folder.
fn folder(name: &str) -> PathBuf {
    let folder = foreign::target().join("bench").join(name);
    let _ = std::fs::remove_dir_all(&folder); // of a bench that was interrupted
    std::fs::create_dir_all(&folder).expect("the target folder can be written to");
    folder
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
    listener.local_addr().expect("an open port has an address").port()
}

/// One process that buffers nothing and logs nothing.
fn nginx_configuration(port: u16, upstream: u16) -> String {
    format!(
        "daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream api {{ server 127.0.0.1:{upstream}; keepalive 16; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://api;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_buffering off;
            proxy_read_timeout 600s;
        }}
    }}
}}
"
    )
}
