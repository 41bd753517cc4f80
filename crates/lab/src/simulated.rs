//! The simulated world as a batch runs it: its rows and, where asked for, its packets go to disk.

use std::sync::atomic::AtomicBool;

use quell_results::packets::{PacketFile, SimPackets, SimTraced, Traced, announce_modelled};
use quell_scenario::Scenario;
use quell_scenario::contract::Measurements;
use quell_scenario::sim::{self, Running, SimError, Watching};

use crate::RunError;
use crate::job::Job;
use crate::write_result::ToDisk;

/// Runs `job` in the simulator.
pub(crate) fn simulated(job: Job<'_>) -> Result<Measurements, RunError> {
    let (scenario, seed, stop) = (job.scenario, job.seed, job.stop);
    let mut disk = ToDisk::new(job);
    let measured = match disk.packets() {
        None => sim::run(scenario, seed, stop, &mut disk).map_err(Broken::Sim),
        Some(file) => traced(scenario, seed, file, stop, &mut disk),
    };
    measured.map_err(|error| match error {
        Broken::Sim(SimError::Scenario(why)) => RunError::refused(why),
        Broken::Sim(SimError::Unwritten(_)) => disk.error(),
        Broken::Sim(error) => RunError::Failed(error.to_string()),
        Broken::Packets(error) => error.into(),
    })
}

/// Why a traced run broke off.
enum Broken {
    Sim(SimError),
    /// The file of packets could not be written.
    Packets(quell_results::Error),
}

/// The same with every packet in `file`.
fn traced(
    scenario: &Scenario,
    seed: u64,
    file: PacketFile,
    stop: &AtomicBool,
    disk: &mut ToDisk<'_>,
) -> Result<Measurements, Broken> {
    let packets = SimPackets::of_sim::<quell_sim::Packet>(scenario, seed, file);
    let running = Running::new(scenario, seed, |recorder| -> Box<dyn Watching> {
        Box::new(Traced::new(recorder, Some(&packets)))
    });
    let mut running = running.map_err(Broken::Sim)?;
    running
        .simulator_mut()
        .announce(|watching, packet, segment| {
            if let Some(traced) = watching.known::<SimTraced>() {
                announce_modelled(traced, packet, segment);
            }
        });
    while running.advance(stop, disk).map_err(Broken::Sim)? {
        if let Some(error) = packets.failure() {
            return Err(Broken::Packets(error));
        }
    }
    let end = running.end();
    let measured = running.finish(disk).map_err(Broken::Sim)?;
    packets.finish(end).map_err(Broken::Packets)?;
    Ok(measured)
}
