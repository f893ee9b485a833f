/*
 * The delivery protocol of Tidings as a Promela model: what happens to the rows
 * of the table delivery while nodes claim, run, die, are paused and lose their
 * connections. README.md says what is modelled and what is not, and which step
 * stands for which function. Run it with `make model`.
 *
 * Every step is one committed transaction, or a part of one that others can see:
 * taking the row's lock, releasing it. There is no time. A lease may expire, a
 * process may stay silent and the server may end a transaction at any moment, so
 * what holds here holds for every clock and every time-out.
 */

#ifndef NODES
#define NODES 2
#endif
#ifndef JOBS
#define JOBS 1
#endif

#ifndef CAP
#define CAP 2 /* attempts of the listener */
#endif
#ifndef HANDBACKS
#define HANDBACKS 1 /* hand-backs of a started job */
#endif
#define LOSSES (CAP + 2) /* leases lost before a start: does not hide a start too many */

/* What the protocol itself does not bound happens this often in one run: a claim
 * is handed back unstarted, an expired lease is renewed, a conflict is retried. */
#ifndef SPARE
#define SPARE 1
#endif
byte spare = SPARE;

/* Faults have no bound, unless FAULTS gives one to keep two jobs small. */
#ifdef FAULTS
byte faults = FAULTS;
#define a_fault (faults > 0)
#define fault() faults--
#else
#define a_fault true
#define fault() skip
#endif

/* The promises. -DPROMISES=… checks some alone, so that a broken protocol is
 * known to break the promise that it should. */
#define EFFECT 1 /* the effects of a job are committed once at most */
#define TOKEN 2 /* nothing commits under a token that is not current */
#define UNSTARTED 4 /* a job that was never started does not fail for attempts */
#define STARTS 8 /* a listener starts in one attempt more than the cap at most */
#define END 16 /* when nothing can happen any more, every job is over */
#ifndef PROMISES
#define PROMISES (EFFECT + TOKEN + UNSTARTED + STARTS + END)
#endif
#define promise(which, condition) assert(!(PROMISES & which) || (condition))

mtype:state = { READY, CLAIMED, WAITING, COMPLETED, FAILED }

/* What a node is at with a job. */
mtype:step = {
	IDLE,
	HELD, /* claimed, in the buffer */
	ALONE, /* a claimed suspect */
	EXHAUSTED, /* claimed, and the attempts are used up */
	STARTING, /* about to acknowledge: a marked suspect, or once more in the same attempt */
	RUNNING, /* acknowledged; the listener runs */
	GROUP, /* acknowledged with its neighbour, in one transaction */
	FAILING, /* about to record a failure */
	STOPPING, /* about to hand back what the stop interrupted */
	RETURNING /* about to hand back what could not be started */
}

/* The row. */
mtype:state state[JOBS];
byte token[JOBS]; /* 0 for none */
byte attempts[JOBS];
byte losses[JOBS]; /* lease_losses */
byte handbacks[JOBS];
bool suspect[JOBS];
bool marked[JOBS]; /* started_at is set */
bool expired[JOBS]; /* the lease */

/* The transaction that has locked the row: that of a node, or one whose client
 * is gone. tx is the token under which it acknowledged. */
#define FREE 0
#define OF(n) (n + 1)
#define CUT (NODES + 1) /* the server will roll it back */
#define LATE (NODES + 2) /* COMMIT may be under way */
byte lock[JOBS];
byte tx[JOBS];
bool joint; /* LATE is one transaction of both jobs */

/* What nodes remember; lost when they die. */
#define at(n, j) [(n) * JOBS + (j)]
mtype:step step[NODES * JOBS];
byte held[NODES * JOBS]; /* the token of the claim */

#ifndef RETRIES
#define RETRIES 1
#endif
byte retries = RETRIES; /* of the operator */

/* What the promises are about. */
byte effects[JOBS]; /* committed */
byte starts[JOBS]; /* attempts of this run in which the listener started, without those handed back */
byte unstarted[JOBS]; /* attempts of this run that were spent without a start */
bool begun[JOBS]; /* the listener started under the current claim */

#define current(n, j) (token[j] == held at(n, j))
#define mine(n, j) (lock[j] == OF(n))

/* A token is a fresh UUID, and tokens are only compared for equality: here one
 * that the other node does not remember is fresh enough, and keeps the states
 * few. Whoever claims finds no token in the row and no transaction on it. */
#if NODES == 2
#define fresh(n, j) (held at(1 - (n), j) == 1 -> 2 : 1)
#else
#define fresh(n, j) 1
#endif

inline take(n, j, next) {
	token[j] = fresh(n, j);
	held at(n, j) = token[j];
	state[j] = CLAIMED;
	attempts[j]++;
	marked[j] = false;
	expired[j] = false;
	begun[j] = false;
	step at(n, j) = (attempts[j] > CAP -> EXHAUSTED : next)
}

/* Every exit from CLAIMED clears the token. */
inline leave(j, to) {
	state[j] = to;
	token[j] = 0;
	expired[j] = false;
	marked[j] = false
}

inline giveBack(j, to) {
	attempts[j]--;
	starts[j] = starts[j] - begun[j];
	leave(j, to)
}

inline forget(n, j) {
	step at(n, j) = IDLE;
	held at(n, j) = 0
}

inline lockRow(n, j) {
	lock[j] = OF(n);
	tx[j] = held at(n, j)
}

inline unlock(j) {
	lock[j] = FREE;
	tx[j] = 0
}

inline rollback(n, j) {
	if
	:: mine(n, j) -> unlock(j)
	:: else /* the server has ended it */
	fi
}

inline start(j) {
	if
	:: !begun[j] -> begun[j] = true; starts[j]++
	:: else /* once more in the same attempt */
	fi;
	promise(STARTS, starts[j] <= CAP + 1)
}

/* The acknowledgement and the listener's effects become visible at once. */
inline commit(j) {
	promise(TOKEN, state[j] == CLAIMED && token[j] == tx[j]);
	effects[j]++;
	promise(EFFECT, effects[j] == 1);
	state[j] = COMPLETED;
#ifndef KEEPTOKEN
	token[j] = 0;
#endif
	expired[j] = false;
	unlock(j)
}

/* A known limit: README.md explains it. */
#ifdef STRICT
#define tolerated(j) false
#else
#define tolerated(j) (unstarted[j] >= CAP)
#endif

inline failed(j) {
	promise(UNSTARTED, starts[j] > 0 || tolerated(j));
	leave(j, FAILED)
}

#if defined(NOFENCE)
#define fence(n, j) true
#else
#define fence(n, j) current(n, j)
#endif
#if defined(BLINDFAIL)
#define failable(n, j) true
#else
#define failable(n, j) current(n, j)
#endif
#if defined(FREEHANDBACKS)
#define returnable(j) true
#else
#define returnable(j) (handbacks[j] < HANDBACKS)
#endif

#if JOBS == 2
#define buffered(n) (step at(n, 0) == HELD || step at(n, 1) == HELD)
#else
#define buffered(n) (step at(n, 0) == HELD)
#endif

/* What node n does with job j. Its claimer and its workers are goroutines, so it
 * can be at both jobs at the same time. */
proctype Worker(byte n, j) {
end:
	do
	/* Claim. A batch is nothing but several of these at once. */
	:: atomic {
		step at(n, j) == IDLE && state[j] == READY && !suspect[j] && lock[j] == FREE ->
		take(n, j, HELD)
	}
	/* Claim a suspect: alone. */
	:: atomic {
		step at(n, j) == IDLE && state[j] == READY && suspect[j] && lock[j] == FREE && !buffered(n) ->
		take(n, j, ALONE)
	}
	/* Renew, also a lease that has expired. */
	:: atomic {
		(step at(n, j) == HELD || step at(n, j) == ALONE) && current(n, j) && lock[j] == FREE && expired[j] && spare > 0 ->
		spare--;
		expired[j] = false
	}
	/* Hand back: at a stop, before a suspect, or by its token after a claim of
	 * unknown outcome. Whether or not it succeeds, the job is forgotten. */
	:: atomic {
		(step at(n, j) == HELD || step at(n, j) == ALONE) && current(n, j) && lock[j] == FREE && spare > 0 ->
		spare--;
		giveBack(j, READY);
		forget(n, j)
	}
	:: atomic {
		(step at(n, j) == HELD || step at(n, j) == ALONE) && (!current(n, j) || lock[j] != FREE) ->
		forget(n, j)
	}
	/* The attempts are used up: failed without a start. */
	:: atomic {
		step at(n, j) == EXHAUSTED && lock[j] == FREE ->
		if
		:: failable(n, j) -> attempts[j]--; losses[j] = 0; failed(j)
		:: else
		fi;
		forget(n, j)
	}
	/* Mark a suspect: in a short transaction of its own, before it starts. */
	:: atomic {
		step at(n, j) == ALONE && lock[j] == FREE ->
		if
		:: current(n, j) ->
#ifndef NOMARK
			marked[j] = true;
			losses[j] = 0;
#endif
			step at(n, j) = STARTING
		:: current(n, j) && spare > 0 -> /* the outcome is unknown: it was marked, or not */
			spare--;
			marked[j] = true;
			losses[j] = 0;
			step at(n, j) = RETURNING
		:: current(n, j) && spare > 0 ->
			spare--;
			step at(n, j) = RETURNING
		:: !current(n, j) -> forget(n, j)
		fi
	}
	/* Acknowledge: the first statement. It waits for the row's lock. */
	:: atomic {
		(step at(n, j) == HELD || step at(n, j) == STARTING) && lock[j] == FREE ->
		if
		:: fence(n, j) -> lockRow(n, j); start(j); step at(n, j) = RUNNING
		:: fence(n, j) && spare > 0 -> /* done, but the answer is lost */
			spare--;
			lockRow(n, j);
			lock[j] = CUT;
			step at(n, j) = RETURNING
		:: !fence(n, j) -> forget(n, j)
		fi
	}
	/* The database is not reached, or the wait for the lock takes too long. */
	:: atomic {
		(step at(n, j) == HELD || step at(n, j) == STARTING) && spare > 0 ->
		spare--;
		step at(n, j) = RETURNING
	}
	:: atomic {
		step at(n, j) == RETURNING ->
		if
		:: current(n, j) && lock[j] == FREE -> giveBack(j, WAITING)
		:: else /* the lease ends the claim */
		fi;
		forget(n, j)
	}
	/* The listener returns, and all is committed. */
	:: atomic {
		step at(n, j) == RUNNING && mine(n, j) ->
		commit(j);
		forget(n, j)
	}
	/* Committed, but the worker does not hear of it. */
	:: atomic {
		step at(n, j) == RUNNING && mine(n, j) && a_fault ->
		fault();
		commit(j);
		step at(n, j) = FAILING
	}
	/* The connection is half open: the server knows nothing, and COMMIT may be
	 * under way. */
	:: atomic {
		step at(n, j) == RUNNING && mine(n, j) && a_fault ->
		fault();
		lock[j] = LATE;
		step at(n, j) = FAILING
	}
	/* The server ends the transaction of a worker that is paused or too slow. It
	 * wakes up later and finds that it cannot commit. */
	:: atomic {
		step at(n, j) == RUNNING && mine(n, j) && a_fault ->
		fault();
		unlock(j)
	}
	/* The listener or the transaction fails. */
	:: atomic {
		step at(n, j) == RUNNING ->
		rollback(n, j);
		step at(n, j) = FAILING
	}
	/* A conflict: once more in the same attempt. */
	:: atomic {
		step at(n, j) == RUNNING && spare > 0 ->
		spare--;
		rollback(n, j);
		step at(n, j) = STARTING
	}
	/* A stop interrupts the listener. */
	:: atomic {
		step at(n, j) == RUNNING ->
		rollback(n, j);
		step at(n, j) = STOPPING
	}
	:: atomic {
		step at(n, j) == STOPPING && lock[j] == FREE ->
		if
		:: current(n, j) && returnable(j) ->
			handbacks[j] = (handbacks[j] < HANDBACKS -> handbacks[j] + 1 : handbacks[j]);
			giveBack(j, READY);
			forget(n, j)
		:: else -> step at(n, j) = FAILING
		fi
	}
	/* Fail: on another connection. It waits for the row's lock too. */
	:: atomic {
		step at(n, j) == FAILING && lock[j] == FREE ->
		if
		:: failable(n, j) ->
			unstarted[j] = unstarted[j] + !begun[j];
			losses[j] = 0;
			if
			:: attempts[j] >= CAP -> failed(j)
			:: else -> leave(j, WAITING)
			fi
		:: else /* late: only the history hears of it */
		fi;
		forget(n, j)
	}
	/* What should be recorded or handed back is not. */
	:: atomic {
		step at(n, j) != IDLE && step at(n, j) != RUNNING && step at(n, j) != GROUP && a_fault ->
		fault();
		forget(n, j)
	}
	od
}

/* What befalls node n as a whole. */
proctype Node(byte n) {
	byte j;
end:
	do
	/* SIGKILL: its sockets close, and the server rolls back at once. (A host that
	 * vanishes is a half-open connection and then this.) */
	:: atomic {
#if JOBS == 2
		(step at(n, 0) != IDLE || step at(n, 1) != IDLE) && a_fault ->
#else
		step at(n, 0) != IDLE && a_fault ->
#endif
		fault();
		for (j : 0 .. JOBS - 1) {
			rollback(n, j);
			forget(n, j)
		}
		j = 0
	}
#if JOBS == 2
	/* A group: first attempts, acknowledged by one statement. Where one is locked
	 * or lost, each runs alone. */
	:: atomic {
		step at(n, 0) == HELD && step at(n, 1) == HELD && attempts[0] == 1 && attempts[1] == 1 &&
			lock[0] == FREE && lock[1] == FREE && fence(n, 0) && fence(n, 1) ->
		lockRow(n, 0);
		lockRow(n, 1);
		step at(n, 0) = GROUP;
		step at(n, 1) = GROUP
	}
	/* Its listeners run one after another. */
	:: atomic { step at(n, 0) == GROUP && mine(n, 0) && !begun[0] -> start(0) }
	:: atomic { step at(n, 0) == GROUP && mine(n, 0) && begun[0] && !begun[1] -> start(1) }
	:: atomic {
		step at(n, 0) == GROUP && mine(n, 0) && begun[1] ->
		commit(0);
		commit(1);
		if
		:: forget(n, 0); forget(n, 1)
		:: a_fault -> fault(); step at(n, 0) = FAILING; step at(n, 1) = FAILING /* not heard of */
		fi
	}
	:: atomic {
		step at(n, 0) == GROUP && mine(n, 0) && a_fault ->
		fault();
		if
		:: begun[1] -> /* half open, COMMIT under way: the fence decides about each */
			lock[0] = LATE;
			lock[1] = LATE;
			joint = true;
			step at(n, 0) = FAILING;
			step at(n, 1) = FAILING
		:: lock[0] = CUT; lock[1] = CUT; step at(n, 0) = STARTING; step at(n, 1) = STARTING
		:: unlock(0); unlock(1)
		fi
	}
	/* One fails: all is rolled back, and each runs alone in the same attempt, or is
	 * handed back at a stop: unspent, unless its listener had its turn. */
	:: atomic {
		step at(n, 0) == GROUP ->
		rollback(n, 0);
		rollback(n, 1);
		if
		:: step at(n, 0) = STARTING; step at(n, 1) = STARTING
		:: step at(n, 0) = (begun[0] -> STOPPING : RETURNING);
			step at(n, 1) = (begun[1] -> STOPPING : RETURNING)
		fi
	}
#endif
	od
}

/* What the server, the clock, maintenance and the operator do to job j. */
proctype Row(byte j) {
#ifdef BLINDRECOVER
	bool seen;
#endif
end:
	do
	/* A transaction whose client is gone ends. */
	:: atomic { lock[j] == CUT -> unlock(j) }
	:: atomic {
		lock[j] == LATE && !joint ->
		if
		:: commit(j)
		:: unlock(j)
		fi
	}
#if JOBS == 2
	:: atomic {
		j == 0 && lock[j] == LATE && joint ->
		joint = false;
		if
		:: commit(0); commit(1)
		:: unlock(0); unlock(1)
		fi
	}
#endif
	/* The lease expires: nobody is left to renew it, or who should is paused. */
	:: atomic { state[j] == CLAIMED && !expired[j] -> expired[j] = true }
	/* Recover, skipping rows that are locked. */
#if defined(BLINDRECOVER)
	:: atomic { state[j] == CLAIMED && expired[j] && !seen -> seen = true }
	:: atomic {
		seen && lock[j] == FREE ->
		seen = false;
#elif defined(NORECOVER)
	:: atomic {
		false ->
#else
	:: atomic {
		state[j] == CLAIMED && expired[j] && lock[j] == FREE ->
#endif
#ifdef COUNTALL
		leave(j, WAITING)
#else
		suspect[j] = true;
		if
		:: marked[j] ->
			unstarted[j] = unstarted[j] + !begun[j];
			leave(j, WAITING)
		:: !marked[j] ->
			attempts[j]--;
			losses[j]++;
			if
			:: losses[j] >= LOSSES -> leave(j, FAILED)
			:: else -> leave(j, WAITING)
			fi
		fi
#endif
	}
	/* Promote. */
	:: atomic { state[j] == WAITING && lock[j] == FREE -> state[j] = READY }
	/* An operator's retry: a new run of attempts. */
	:: atomic {
		state[j] == FAILED && lock[j] == FREE && retries > 0 ->
		retries--;
		state[j] = READY;
		attempts[j] = 0;
		losses[j] = 0;
		handbacks[j] = 0;
		suspect[j] = false;
		starts[j] = 0;
		unstarted[j] = 0
	}
	od
}

init {
	byte n, j;
	atomic {
		for (j : 0 .. JOBS - 1) {
			state[j] = READY;
			run Row(j);
			for (n : 0 .. NODES - 1) {
				step at(n, j) = IDLE;
				run Worker(n, j)
			}
		}
		for (n : 0 .. NODES - 1) {
			run Node(n)
		}
	}
	/* Nothing can happen any more: nothing is lost, and nothing is left behind. */
	timeout;
	for (j : 0 .. JOBS - 1) {
		promise(END, (state[j] == COMPLETED || state[j] == FAILED) && lock[j] == FREE);
		promise(END, (state[j] == COMPLETED) == (effects[j] == 1))
	}
}
