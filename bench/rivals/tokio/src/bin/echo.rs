//! An echo server: a task for each connection, which sends back what it reads.
//!
//! Arguments: the size of a connection's buffer in bytes; for how many microseconds at
//! a time a further task computes before it yields, 0 for no such task; how many bytes
//! are hashed for each request; and how many threads run the tasks, 0 for the thread
//! that accepts. Only that one has the further task.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

#[derive(Clone, Copy)]
struct Serving {
    buffer: usize,
    hashed: &'static [u8],
}

fn main() -> io::Result<()> {
    let buffer = rivals::argument(1, 4096) as usize;
    let computing = Duration::from_micros(rivals::argument(2, 0));
    let hashed = vec![0; rivals::argument(3, 0) as usize].leak();
    let threads = rivals::argument(4, 0) as usize;
    let serving = Serving { buffer, hashed };
    if threads > 0 {
        let start = |stream| drop(tokio::spawn(echo(stream, serving)));
        return rivals::run_on(threads, accept(start));
    }
    rivals::run(LocalSet::new().run_until(async {
        if !computing.is_zero() {
            spawn_local(compute(computing));
        }
        accept(|stream| drop(spawn_local(echo(stream, serving)))).await
    }))
}

async fn accept(start: impl Fn(TcpStream)) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    rivals::serving(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        start(stream);
    }
}

/// Serves a connection until it ends. The load may end it with a reset, so an error is
/// a usual end.
async fn echo(mut stream: TcpStream, serving: Serving) {
    let mut bytes = vec![0; serving.buffer];
    while let Ok(n) = stream.read(&mut bytes).await {
        if n == 0 {
            return;
        }
        if !serving.hashed.is_empty() {
            black_box(Sha256::digest(serving.hashed));
        }
        if stream.write_all(&bytes[..n]).await.is_err() {
            return;
        }
    }
}

async fn compute(long: Duration) {
    loop {
        let began = Instant::now();
        while began.elapsed() < long {
            std::hint::spin_loop();
        }
        tokio::task::yield_now().await;
    }
}
