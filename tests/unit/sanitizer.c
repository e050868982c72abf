/* Criterion's main process forgets a timer when tests with different time limits run side by side. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libcriterion";
}
