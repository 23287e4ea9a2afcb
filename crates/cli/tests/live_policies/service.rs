//! A Service in front of replicas: one address for the API server, which connects to the replicas that are ready.

use std::io;
use std::sync::{Arc, Mutex};

use clearway_testbed::{IN_TIME, wait_until};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::lab::{Lab, Program};
use super::requests::try_create;

/// The address of the webhook, whoever answers behind it.
pub(crate) struct Service {
    port: u16,
    /// The ports of replicas that get new connections, the next one first.
    replicas: Arc<Mutex<Vec<u16>>>,
    work: JoinHandle<()>,
}

impl Service {
    /// A Service without replicas.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas = Arc::new(Mutex::new(Vec::new()));
        let known = Arc::clone(&replicas);
        let work = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let next = {
                    let mut known = known.lock().unwrap();
                    let next = (!known.is_empty()).then(|| known.remove(0));
                    known.extend(next);
                    next
                };
                tokio::spawn(forward(client, next));
            }
        });
        Service { port, replicas, work }
    }

    /// A replica of the operator whose webhook has the address of this Service.
    pub(crate) fn operator(&self, lab: &Lab, pod: &str, more: &[&str]) -> Program {
        self.operator_of(lab, None, pod, more)
    }

    /// The same with another program.
    pub(crate) fn operator_of(&self, lab: &Lab, program: Option<&str>, pod: &str, more: &[&str]) -> Program {
        let url = format!("https://127.0.0.1:{}", self.port);
        let fixed = ["--webhook-listen", "127.0.0.1:0", "--webhook-url", &url];
        lab.operator_of(program, pod, &[&fixed[..], more].concat())
    }

    /// Sends new connections to a replica, once it is ready.
    pub(crate) async fn add(&self, replica: &Program) {
        let port = replica.webhook_port().await;
        replica.wait_ready().await;
        self.replicas.lock().unwrap().push(port);
    }

    /// Sends no new connections to a replica.
    pub(crate) async fn remove(&self, replica: &Program) {
        let port = replica.webhook_port().await;
        self.replicas.lock().unwrap().retain(|known| *known != port);
    }

    /// A Service with one replica, which the API server asks from now on.
    pub(crate) async fn with_operator(lab: &Lab, pod: &str, more: &[&str]) -> (Self, Program) {
        let service = Service::start().await;
        let operator = service.operator(lab, pod, more);
        service.add(&operator).await;
        service.wait_until_asked(lab).await;
        // On a busy machine an answer may take longer than the three seconds after which the API server goes on without it.
        lab.set_webhook_timeouts(30).await;
        (service, operator)
    }

    /// Waits until the API server asks the webhook: both of its paths are in one object.
    pub(crate) async fn wait_until_asked(&self, lab: &Lab) {
        let labels = json!({"admission.gatekeeper.sh/ignore": "yes"});
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "asked", "labels": labels}});
        let asked = async || try_create(lab, &namespace).await.message.contains("Only exempt namespace can have");
        wait_until(IN_TIME, "the API server asks the webhook", asked).await.unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.work.abort();
    }
}

/// Forwards a connection until either side closes it; without a replica it is closed at once.
async fn forward(mut client: TcpStream, replica: Option<u16>) -> io::Result<()> {
    let Some(port) = replica else { return Ok(()) };
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
