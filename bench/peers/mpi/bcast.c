/* bcast BYTES REPEATS [WARM] has rank 0 broadcast BYTES with MPI_Bcast, REPEATS times and once before to warm up (only WARM
 * bytes), and prints for each the nanoseconds from rank 0's call to the last rank's return, and what all ranks together used
 * of the processors, each between its call and its return. All are on one machine and share its monotonic clock.
 * Every broadcast has other contents, and every rank checks all of them, outside of the measured time. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t word(uint64_t round, uint64_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15u ^ round;
}

static void fill(uint64_t *b, size_t words, uint64_t round)
{
	for (size_t i = 0; i < words; i++)
		b[i] = word(round, i);
}

static void check(const uint64_t *b, size_t words, uint64_t round, int rank)
{
	for (size_t i = 0; i < words; i++) {
		if (b[i] == word(round, i))
			continue;
		fprintf(stderr, "bcast: rank %d has wrong contents at byte %zu\n", rank, i * sizeof *b);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* broadcast returns at rank 0 how long one broadcast took, and in cpu what it cost. */
static int64_t broadcast(void *b, size_t bytes, int64_t *cpu)
{
	int64_t began, ended, last = 0, used;
	MPI_Barrier(MPI_COMM_WORLD);
	used = now(CLOCK_PROCESS_CPUTIME_ID);
	began = now(CLOCK_MONOTONIC);
	MPI_Bcast(b, (int)(bytes / sizeof(uint64_t)), MPI_UINT64_T, 0, MPI_COMM_WORLD);
	ended = now(CLOCK_MONOTONIC);
	used = now(CLOCK_PROCESS_CPUTIME_ID) - used;
	MPI_Reduce(&ended, &last, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&used, cpu, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	return last - began;
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	int rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	size_t bytes = argc >= 3 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t repeats = argc >= 3 ? strtoull(argv[2], NULL, 10) : 0;
	size_t warm = argc == 4 ? strtoull(argv[3], NULL, 10) : bytes;
	uint64_t *b = bytes > 0 && bytes % sizeof *b == 0 ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
	if (b == NULL || repeats == 0 || warm > bytes || warm % sizeof *b != 0) {
		fprintf(stderr, "usage: bcast BYTES REPEATS [WARM], with multiples of eight bytes that fit into memory\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	memset(b, 0, bytes);
	for (uint64_t round = 0; round <= repeats; round++) {
		size_t part = round == 0 ? warm : bytes;
		if (rank == 0)
			fill(b, part / sizeof *b, round);
		int64_t cpu = 0, took = broadcast(b, part, &cpu);
		check(b, part / sizeof *b, round, rank);
		MPI_Barrier(MPI_COMM_WORLD); /* all have what they should */
		if (rank == 0 && round > 0)
			printf("took %" PRId64 " ns, of the processors %" PRId64 " ns\n", took, cpu);
		fflush(stdout);
	}
	free(b);
	MPI_Finalize();
	return 0;
}
