//! `clearway gateway`: the status that Gateway API objects should have.

mod audit;
mod diff;
mod explain;
pub(in crate::commands) mod input;
pub(crate) mod settings;
mod status;

use anyhow::Result;

pub(in crate::commands) use status::tree as status_tree;

use crate::arguments::{Gateway, GatewayRender};
use crate::exit::Exit;
use crate::output;
use crate::runtime::block_on;

/// Carries out a command.
pub(crate) fn run(command: &Gateway) -> Result<Exit> {
    match command {
        Gateway::Status(options) => block_on(status::run(options))?,
        Gateway::Audit(options) => block_on(audit::run(options))?,
        Gateway::Diff(options) => block_on(diff::run(options))?,
        Gateway::Explain(options) => explain::run(options),
        Gateway::Render(options) => block_on(render(options))?,
    }
}

async fn render(options: &GatewayRender) -> Result<Exit> {
    let gathered = input::read_objects(&options.input).await?;
    let engine = settings::evaluate(&options.implementation, &gathered)?;
    gathered.print_problems();
    output::print_document(&clearway_gateway::drawing::draw(&engine))?;
    Ok(if gathered.is_incomplete() { Exit::CouldNotRun } else { Exit::Yes })
}
