//! An HTTP server on hyper: a task for each connection, and the same answer to
//! every request as the other servers of the row.

use std::convert::Infallible;
use std::io;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

const BODY: &[u8] = b"Hello, world! Each of the servers says this, and nothing else.\n";

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(BODY)));
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

fn main() -> io::Result<()> {
    rivals::run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        rivals::serving(listener.local_addr()?);
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                loop {
                    let (stream, _) = listener.accept().await?;
                    stream.set_nodelay(true)?;
                    tokio::task::spawn_local(async move {
                        // The load ends its connections with a reset, so an error is
                        // the usual end.
                        let _ = hyper::server::conn::http1::Builder::new()
                            .serve_connection(TokioIo::new(stream), service_fn(hello))
                            .await;
                    });
                }
            })
            .await
    })
}
