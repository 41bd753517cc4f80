//! `quell compare`: one scenario over several queues, one table.

use quell_lab::World;
use quell_lab::scenario::Override;

use crate::Failure;
use crate::arguments::Compare;
use crate::check::load_with;
use crate::page::Page;
use crate::side_by_side;

/// Runs the scenario once per queue, and prints what each did to each group.
pub(crate) fn compare(arguments: &Compare, page: &mut Page) -> Result<(), Failure> {
    let world = World::from(arguments.world);
    // Every scenario is checked before the first one runs.
    let mut loaded = Vec::new();
    for queue in queues(&arguments.queues).map_err(Failure::input)? {
        let overrides = Override::queue(&queue).map_err(Failure::input)?;
        let scenario = load_with(&arguments.file, &arguments.changes, overrides, Some(world))?;
        loaded.push((queue, scenario));
    }
    let columns = side_by_side::run(&loaded, world, &arguments.jobs, arguments.out.as_ref())?;
    if arguments.json {
        side_by_side::json(&columns, page)
    } else {
        side_by_side::text(&columns, page);
        Ok(())
    }
}

/// Splits `fifo,fq_codel:target=5ms,limit=100p,dualpi2`: what has a value belongs to the queue before
/// it.
fn queues(list: &str) -> Result<Vec<String>, String> {
    let mut queues: Vec<String> = Vec::new();
    for part in list
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let parameter = part.contains('=') && !part.contains(':');
        match queues.last_mut() {
            Some(queue) if parameter && queue.contains(':') => {
                queue.push(',');
                queue.push_str(part);
            }
            _ if parameter => {
                return Err(format!(
                    "--queue {list}: {part} has no queue before it, such as fifo:{part}"
                ));
            }
            _ => queues.push(part.to_owned()),
        }
    }
    for (index, queue) in queues.iter().enumerate() {
        if queues[..index].contains(queue) {
            return Err(format!("--queue {list}: {queue} is there twice"));
        }
    }
    if queues.is_empty() {
        return Err("--queue: give at least one queue, such as fifo,dualpi2".to_owned());
    }
    Ok(queues)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_belong_to_the_queue_before_them() {
        assert_eq!(
            queues("fifo, dualpi2:target=5ms,any_ect=true,fifo:limit=20ms").unwrap(),
            ["fifo", "dualpi2:target=5ms,any_ect=true", "fifo:limit=20ms"]
        );
        for wrong in ["", ",", "target=5ms", "fifo,target=5ms", "fifo,fifo"] {
            assert!(queues(wrong).is_err(), "{wrong}");
        }
    }
}
