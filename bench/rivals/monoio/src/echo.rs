//! An echo server on monoio, which reads and writes by io_uring: a task for each connection, which
//! sends back what it reads.
//!
//! Argument: the size of a connection's buffer in bytes. It prints its address, and ends when its
//! standard input ends.

use std::io::{self, Write};

use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{TcpListener, TcpStream};
use monoio::{IoUringDriver, RuntimeBuilder};

/// Serves a connection until it ends. The load may end it with a reset, so an error is a usual end.
async fn echo(mut stream: TcpStream, size: usize) {
    let mut bytes = Vec::with_capacity(size);
    loop {
        let (read, filled) = stream.read(bytes).await;
        if !matches!(read, Ok(n) if n > 0) {
            return;
        }
        let (written, sent) = stream.write_all(filled).await;
        if written.is_err() {
            return;
        }
        bytes = sent;
        bytes.clear();
    }
}

async fn serve(size: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    io::stdout().flush()?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        monoio::spawn(echo(stream, size));
    }
}

fn main() -> io::Result<()> {
    let size = std::env::args().nth(1).map_or(4096, |text| text.parse().expect("a number"));
    std::thread::spawn(|| {
        let ended = io::copy(&mut io::stdin(), &mut io::sink());
        std::process::exit(i32::from(ended.is_err()));
    });
    RuntimeBuilder::<IoUringDriver>::new().build()?.block_on(serve(size))
}
