//! A cluster of 15 hosts in turmoil: 5 servers, 9 clients, and one host that only waits.
//!
//! Each line on standard input is "requests seconds milliseconds": how long it runs in
//! virtual time, and how long a client pauses after each reply. The answer is the number
//! of requests that were answered.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use simulators::{answer, number};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;
use turmoil::net::{TcpListener, TcpStream};
use turmoil::{Builder, Result};

const SERVERS: usize = 5;
const CLIENTS: usize = 9;
const SIZE: usize = 64;
const PORT: u16 = 7;

fn main() {
    answer(|words| {
        let seconds = Duration::from_secs(number(words, 1));
        let pause = Duration::from_millis(number(words, 2));
        cluster(seconds, pause).expect("a run without an error")
    });
}

fn cluster(length: Duration, pause: Duration) -> Result<u64> {
    let mut sim = Builder::new()
        .simulation_duration(length * 2)
        .min_message_latency(Duration::from_millis(5))
        .max_message_latency(Duration::from_millis(10))
        .rng_seed(1)
        .build();
    for i in 0..SERVERS {
        sim.host(format!("server{i}"), serve);
    }
    let requests = Rc::new(Cell::new(0));
    for i in 0..CLIENTS {
        sim.client(
            format!("client{i}"),
            ask(i % SERVERS, length, pause, requests.clone()),
        );
    }
    sim.client("test", async move {
        sleep(length).await;
        Ok(())
    });
    sim.run()?;
    Ok(requests.get())
}

/// Sends back what arrives.
async fn serve() -> Result {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut message = [0; SIZE];
            while stream.read_exact(&mut message).await.is_ok() {
                if stream.write_all(&message).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// One request after the other.
async fn ask(server: usize, length: Duration, pause: Duration, requests: Rc<Cell<u64>>) -> Result {
    let mut stream = TcpStream::connect((format!("server{server}"), PORT)).await?;
    let mut message = [0; SIZE];
    while turmoil::elapsed() < length {
        stream.write_all(&message).await?;
        stream.read_exact(&mut message).await?;
        requests.set(requests.get() + 1);
        if !pause.is_zero() {
            sleep(pause).await;
        }
    }
    Ok(())
}
