//! Who carries updates out: the seam between deciding and doing.

use std::pin::Pin;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::reconciler::Input;
use crate::work::{Order, Prepared, Work};

/// Prepares and applies releases. What is begun ends when its future is dropped, and may be begun again at any point.
pub trait Hands: Send + Sync + 'static {
    /// Looks at a release that an object asks for until it may be applied, reporting each step; what fails is reported and tried again. Ends with
    /// [`Work::Accepted`].
    fn prepare(&self, object: Value, order: Order, report: Reporter) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Applies a release that was looked at, reporting how far it is; what fails is reported and tried again. Ends with
    /// [`Work::Done`].
    fn apply(
        &self,
        object: Value,
        order: Order,
        prepared: Prepared,
        report: Reporter,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// Where work is reported.
#[derive(Debug, Clone)]
pub struct Reporter(mpsc::Sender<Input>);

impl Reporter {
    /// Reports to the driver of an object.
    pub(crate) fn new(inputs: mpsc::Sender<Input>) -> Self {
        Reporter(inputs)
    }

    /// Reports how far the work is.
    pub async fn tell(&self, work: Work) {
        // If nobody listens any more, the work is about to be stopped.
        let _ = self.0.send(Input::Work(work)).await;
    }
}
