//! An echo server: a task for each connection, which sends back what it reads.
//!
//! Arguments: the size of a connection's buffer in bytes, and for how many
//! microseconds at a time a further task computes before it yields; 0 means that
//! there is no such task.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn main() -> io::Result<()> {
    let buffer = rivals::argument(1, 4096) as usize;
    let computing = Duration::from_micros(rivals::argument(2, 0));
    rivals::run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        rivals::serving(listener.local_addr()?);
        let local = tokio::task::LocalSet::new();
        if !computing.is_zero() {
            local.spawn_local(compute(computing));
        }
        local
            .run_until(async {
                loop {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    // The load may end a connection with a reset, so an error is a
                    // usual end.
                    tokio::task::spawn_local(async move {
                        let _ = echo(stream, buffer).await;
                    });
                }
            })
            .await
    })
}

async fn echo(mut stream: TcpStream, buffer: usize) -> io::Result<()> {
    let mut bytes = vec![0; buffer];
    loop {
        let n = stream.read(&mut bytes).await?;
        if n == 0 {
            return Ok(());
        }
        stream.write_all(&bytes[..n]).await?;
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
